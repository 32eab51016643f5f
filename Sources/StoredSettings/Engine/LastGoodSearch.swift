// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Reading.md, "An unusable value leaves the last good one in use".

import Synchronization

/// Finds the last good value of a setting, and remembers it while the same unusable value is stored.
final class LastGoodSearch<Value: Sendable>: Sendable {
    typealias Reading = SettingBox<Value>.Reading

    private struct Result {
        var clues: Clues
        /// `nil` when no earlier value is usable.
        var reading: Reading?
    }

    /// What is known about the values of a key without reading a file.
    struct Clues: Equatable {
        var unusable: StoredValue
        /// The value that was replaced by an edit of the file.
        var replaced: StoredValue?
        /// The values that this process used last, newest first.
        var lastGood: [StoredValue]
    }

    private let result = Locked<Result?>(nil)

    /// Returns the last good value.
    ///
    /// - Parameters:
    ///   - clues: What is known about the values of the key. While it does not change, the result is the same.
    ///   - find: Searches for a usable value. It is called under no lock.
    /// - Returns: The value; `nil` when no earlier value is usable.
    func reading(_ clues: Clues, find: () -> Reading?) -> Reading? {
        if let known = result.withLock({ $0 }), known.clues == clues { return known.reading }
        let reading = find()
        result.withLock { result in
            result = Result(clues: clues, reading: reading)
            // The search has noted that this value is used.
            if let stored = reading?.stored { result?.clues.lastGood.moveToFront(stored) }
        }
        return reading
    }
}

extension SettingBox {
    /// Returns the last good value, for an unusable stored value.
    ///
    /// The first call for a value may read the last good copy of the settings file.
    ///
    /// - Returns: The last good value; `nil` when none is known that this setting can use.
    func lastGoodReading(insteadOf stored: StoredValue) -> Reading? {
        let store = engine.store as? any RecoveringStore
        let name = storedKey ?? key.name
        let replaced = store?.value(forKey: name, replacedByEdit: stored)
        let clues = LastGoodSearch<Value>.Clues(unusable: stored, replaced: replaced, lastGood: health.lastGood)
        return lastGoodSearch.reading(clues) {
            guard
                let reading = firstUsable(of: [clues.replaced] + clues.lastGood, except: stored)
                    ?? firstUsable(of: [store?.copiedLastGoodValue(forKey: name)], except: stored)
            else { return nil }
            if let value = reading.stored {
                health.noteInUse(value)
                // A secret that was replaced must not survive on the disk.
                if !metadata.traits.isSecret { store?.retain(value, insteadOf: stored, forKey: name) }
            }
            return reading
        }
    }

    private func firstUsable(of values: [StoredValue?], except unusable: StoredValue) -> Reading? {
        for case let value? in values where value != unusable {
            do {
                return Reading(value: try decode(value), stored: value)
            } catch {
                // It is unusable as well, and is not the stored value, so there is nothing to report.
                continue
            }
        }
        return nil
    }
}
