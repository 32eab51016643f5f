// SPDX-License-Identifier: Apache-2.0

#if THREAD_SANITIZER
import StoredSettings

/// In a Thread Sanitizer build, every `Mutex` of this module is a lock that reports to the sanitizer.
typealias Mutex = Locked
#endif
