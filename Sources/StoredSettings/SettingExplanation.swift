// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Reading.md, "load() and explain() report errors of the store".

/// A source that a value may come from.
///
/// The highest layer with a usable value wins. Later versions may add layers, so a `switch` over them needs a `default`.
public struct SettingsLayer: Sendable, Hashable, CustomStringConvertible {
    /// The layer's name.
    public let description: String

    /// The suite's store, including assignments that are not saved yet.
    public static let store = SettingsLayer(description: "store")
    /// An earlier value of the suite's store, because the stored one is unusable, or does not meet a requirement.
    public static let lastGood = SettingsLayer(description: "last good value")
    /// The defaults of the suite's store: values registered with `UserDefaults`.
    public static let fallback = SettingsLayer(description: "fallback")
    /// The default in the declaration.
    public static let `default` = SettingsLayer(description: "default")
}

extension Setting {
    /// Returns the value, the layer it comes from, and the values it hides.
    ///
    /// ```swift
    /// print(settings.$port.explain().layer)     // "store"
    /// ```
    public func explain() -> SettingExplanation<Value> {
        box.consistently(box.storedValue, explanation)
    }

    private func explanation(ofStored stored: StoredValue?) -> SettingExplanation<Value> {
        var candidates: [Candidate] = []
        var isUsed: Bool { candidates.contains(where: \.isValid) }
        let overrides = box.overrideReadings(over: stored)
        candidates += overrides.compactMap(candidate)
        var problem = overrides.problems().first
        do {
            let layer = engine.isHeld(box.key.storedKeys) ? SettingsLayer.lastGood : .store
            if let stored { candidates.append(Candidate(layer: layer, try box.storedReading(of: stored))) }
        } catch {
            if !isUsed { problem = problem ?? box.unreadable(error) }
            if let lastGood = stored.flatMap({ box.lastGoodReading(insteadOf: $0) }) {
                candidates.append(Candidate(layer: .lastGood, lastGood))
            }
        }
        let bases = box.baseReadings()
        if !isUsed { problem = problem ?? bases.problems().first }
        candidates += bases.compactMap(candidate)
        do {
            if let stored = engine.store.fallback(forKey: key) {
                candidates.append(Candidate(layer: .fallback, try box.storedReading(of: stored)))
            }
        } catch {
            if !isUsed { problem = problem ?? box.unreadable(error) }
        }
        problem = problem ?? engine.requirementErrors(for: [key]).first
        problem = problem ?? engine.store.problem.map { box.naming($0, as: .readFailed) }
        problem = problem ?? suite.layers?.snapshot.problems.first
        candidates.append(Candidate(layer: .default, .init(value: defaultValue, stored: box.encoded(defaultValue))))
        let valid = candidates.filter(\.isValid)
        let (used, shadowed) = (valid[0], valid.dropFirst())
        let hidesStore = overrides.firstUsable() != nil || used.layer == .lastGood
        return SettingExplanation(
            key: key,
            value: used.value,
            layer: used.layer,
            source: used.source,
            place: used.layer == .store ? place : nil,
            shadowed: Dictionary(shadowed.map { ($0.layer, $0.value) }) { higher, _ in higher },
            members: members(of: used, in: candidates.drop { !$0.isValid }),
            problem: problem,
            isRestartPending: box.startValue?.differs(from: box.encoded(used.value) ?? box.storedValue) ?? false,
            hidesStore: hidesStore,
            text: redactedText(of: used),
            shadowedText: shadowed.map { ", over \(phrase($0))" }.joined()
        )
    }

    private func candidate(_ reading: LayerReading<Value>) -> Candidate? {
        guard let value = reading.unvalidated else { return nil }
        var candidate = Candidate(
            layer: reading.layer,
            source: box.place(of: reading),
            .init(value: value, stored: reading.stored, isFromSecretFile: reading.isFromSecretFile)
        )
        if case .failure = reading.result { candidate.isValid = false }
        return candidate
    }

    /// The members of the structure that is used, each with the highest candidate that has it.
    private func members(
        of used: Candidate,
        in candidates: some Collection<Candidate>
    ) -> [SettingExplanation<Value>.Member] {
        guard let whole = box.encoded(used.value), let structures = box.structures(of: whole) else {
            return []
        }
        return whole.leaves(structures)
            .compactMap { path in
                let owner = candidates.first { $0.reading.stored?.part(at: path) != nil }
                return owner.map { .init(name: path.joined(separator: "."), layer: $0.layer, source: $0.source) }
            }
    }

    /// A layer with a value.
    private struct Candidate {
        var layer: SettingsLayer
        var source: String?
        var reading: SettingBox<Value>.Reading
        /// Whether the value is valid by itself; otherwise its members can be part of a valid one.
        var isValid = true

        var value: Value { reading.value }

        init(layer: SettingsLayer, source: String? = nil, _ reading: SettingBox<Value>.Reading) {
            (self.layer, self.source, self.reading) = (layer, source, reading)
        }
    }

    private var place: SettingsPersistence {
        engine.isStorageAvailable && engine.isPending(key)
            ? .ephemeral(reason: "it could not be saved yet") : suite.persistence
    }
}

extension Setting {
    private func phrase(_ candidate: Candidate) -> String {
        let text = redactedText(of: candidate)
        if let source = candidate.source { return "\(text) given by \(source)" }
        return candidate.layer == .store ? "the stored \(text)" : "the \(candidate.layer) \(text)"
    }

    /// A value as text: its stored form, in which the elements of sets are sorted, or `••••` for a secret.
    private func redactedText(of candidate: Candidate) -> String {
        let text: String
        do {
            guard let stored = try box.conversion.encode(candidate.value) else { return "nil" }
            text = box.conversion.written(stored).description
        } catch {
            text = "\(candidate.value)"
        }
        return box.hasSecret || candidate.reading.isFromSecretFile ? SettingTraits.redactedText : text
    }
}

/// The origin of a setting's value.
public struct SettingExplanation<Value: Sendable>: Sendable {
    /// The key.
    public let key: String
    /// The value that is used.
    public let value: Value
    /// The layer that the value comes from.
    public let layer: SettingsLayer
    /// The flag, the environment variable, or the file of the layer, with line and column; `nil` for the store, the
    /// fallback and the default.
    public let source: String?
    /// The place of a stored value; `nil` for other layers.
    public let place: SettingsPersistence?
    /// The values of lower layers, which the value hides.
    public let shadowed: [SettingsLayer: Value]
    /// The members of a structure, each with the source that it comes from; empty for another value.
    ///
    /// A member of a member has both names: `limits.burst`.
    public let members: [Member]
    /// The error that prevents a higher layer from being used, or the store from being read; `nil` without one.
    public let problem: SettingsError?
    /// Whether the setting requires a restart, and its value has changed since this process read it first.
    public let isRestartPending: Bool

    /// Whether the value is used in place of the stored one.
    let hidesStore: Bool
    let text: String
    let shadowedText: String

    /// A member of a structure, and where it comes from.
    public struct Member: Sendable, Hashable {
        /// The name, as in a file.
        public let name: String
        /// The layer that the member comes from.
        public let layer: SettingsLayer
        /// As ``SettingExplanation/source``.
        public let source: String?
    }
}

extension SettingExplanation: CustomReflectable {
    /// A mirror without children, so that `dump` prints only the ``description``.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension SettingExplanation: CustomStringConvertible {
    /// The explanation in one sentence.
    ///
    /// It contains values, except those of a setting with the trait ``SettingTraits/secret`` and those of secret files.
    public var description: String {
        var text = "\(key) = \(text)"
        if let source {
            text += ", given by \(source)"
        } else {
            text += place.map { ", \($0)" } ?? ", the \(layer)"
        }
        for member in members where member.layer != layer || member.source != source {
            text += ", \(member.name) \(member.source.map { "given by \($0)" } ?? "from the \(member.layer)")"
        }
        text += shadowedText
        if isRestartPending { text += "; it takes effect when the program is started again" }
        if let problem { text += "; \(problem.message)" }
        return text
    }
}
