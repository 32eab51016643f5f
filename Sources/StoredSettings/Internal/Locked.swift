// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The one lock of this library: not recursive, held for memory operations and never over user code.
///
/// A name of its own, so that there is one place to change it.
typealias Locked<Value: ~Copyable> = Mutex<Value>
