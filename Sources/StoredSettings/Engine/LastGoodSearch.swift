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
        /// The values that were stored before; `nil` if they are unknown.
        var history: LastGoodValues.History?
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
        var new = Result(clues: clues, reading: reading)
        // The search has noted that this value is used.
        if let stored = reading?.stored { new.clues.lastGood.moveToFront(stored) }
        let old = result.withLock { result in
            defer { result = new }
            return result
        }
        // Outside the lock: the end of a value may run user code.
        _ = consume old
        return reading
    }
}

extension SettingBox {
    /// Returns the last good value, for an unusable stored value.
    ///
    /// The first call for a value may read the last good copy of the settings file.
    ///
    /// - Parameters:
    ///   - stored: The unusable value.
    ///   - isNoted: Whether the value that is found is in use from now on.
    /// - Returns: The last good value; `nil` when none is known that this setting can use.
    func lastGoodReading(insteadOf stored: StoredValue, isNoted: Bool = true) -> Reading? {
        let store = engine.store as? any RecoveringStore
        let name = storedKey ?? key.name
        let history = store?.history(ofKey: name, before: stored)
        let clues = LastGoodSearch<Value>.Clues(unusable: stored, history: history, lastGood: health.lastGood)
        guard isNoted else { return find(clues, in: store, name)?.reading }
        return lastGoodSearch.reading(clues) {
            guard let (reading, isCertain) = find(clues, in: store, name) else {
                // What was in use before was removed since.
                if history?.isComplete == true { health.forgetLastGood() }
                return nil
            }
            if let value = reading.stored {
                health.noteInUse(value)
                // A secret that was replaced must not survive on the disk.
                if isCertain, !engine.isSecret(name) { store?.retain(value, insteadOf: stored, forKey: name) }
            }
            return reading
        }
    }

    /// Searches for the last good value.
    ///
    /// - Returns: The value, and whether no other one can have been stored since; `nil` if there is none.
    private func find(
        _ clues: LastGoodSearch<Value>.Clues,
        in store: (any RecoveringStore)?,
        _ name: String
    ) -> (reading: Reading, isCertain: Bool)? {
        if let history = clues.history {
            if let reading = firstUsable(of: history.values, except: clues.unusable) { return (reading, true) }
            guard !history.isComplete else { return nil }
        }
        if let reading = firstUsable(of: clues.lastGood, except: clues.unusable) {
            return (reading, clues.history != nil)
        }
        // A value that was set or removed since the last checkpoint is newer than the copy.
        guard let copy = store?.copiedValues(), !copy.newer.contains(name) else { return nil }
        // The retained value is older than the copied one, which may have become usable since.
        let copied = [copy.contents[name], copy.lastGood[name]].compactMap(\.self)
        return firstUsable(of: copied, except: clues.unusable).map { ($0, true) }
    }

    private func firstUsable(of values: [StoredValue], except unusable: StoredValue) -> Reading? {
        for value in values where value != unusable {
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
