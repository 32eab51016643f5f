// SPDX-License-Identifier: Apache-2.0

#if THREAD_SANITIZER
import StoredSettings

/// In a Thread Sanitizer build, every `Mutex` of this module is a lock that the sanitizer knows.
typealias Mutex = Locked
#endif
