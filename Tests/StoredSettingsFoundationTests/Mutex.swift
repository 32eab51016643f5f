// SPDX-License-Identifier: Apache-2.0

#if THREAD_SANITIZER
import StoredSettings

/// In a build for Thread Sanitizer, every `Mutex` of this module is a lock that reports its operations to the sanitizer.
typealias Mutex = Locked
#endif
