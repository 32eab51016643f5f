// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Reading.md, "load() and explain() report errors of the store".

/// A place that a value may come from.
///
/// The first that has one wins.
///
/// More may come with any version, so a `switch` over them needs a `default`.
public struct SettingsLayer: Sendable, Hashable, CustomStringConvertible {
    /// The layer's name.
    public let description: String

    /// What the suite's store holds, or will hold as soon as it can be saved.
    public static let store = SettingsLayer(description: "store")
    /// What the suite's store falls back to where it holds nothing: values registered with `UserDefaults`.
    public static let fallback = SettingsLayer(description: "fallback")
    /// What is written in the declaration.
    public static let `default` = SettingsLayer(description: "default")
}

extension Setting {
    /// Tells the value, and where it comes from.
    ///
    /// ```swift
    /// print(settings.$port.explain())
    /// // port = 9090, stored in /home/ada/.config/com.acme.server/settings.json, over the default 8080
    /// ```
    public func explain() -> SettingExplanation<Value> {
        let overrides = box.overrideReadings
        var candidates = overrides.compactMap { override in
            override.reading.map { Candidate(layer: override.layer, source: override.source, value: $0.value) }
        }
        var problem = overrides.problems().first
        do {
            if let value = try engine.value(forKey: key).map(box.decode) {
                candidates.append(Candidate(layer: .store, value: value))
            } else if let value = try engine.store.fallback(forKey: key).map(box.decode) {
                candidates.append(Candidate(layer: .fallback, value: value))
            }
        } catch {
            if candidates.isEmpty { problem = problem ?? box.naming(error, as: .invalidValue) }
        }
        problem = problem ?? engine.store.problem.map { box.naming($0, as: .readFailed) }
        return explanation(candidates, over: Candidate(layer: .default, value: defaultValue), problem)
    }

    /// A layer that has a value.
    private struct Candidate {
        var layer: SettingsLayer
        var source: String?
        var value: Value
    }

    private func explanation(
        _ candidates: [Candidate],
        over default: Candidate,
        _ problem: SettingsError?
    ) -> SettingExplanation<Value> {
        let serving = candidates.first ?? `default`
        let shadowed = candidates.isEmpty ? [] : candidates.dropFirst() + [`default`]
        return SettingExplanation(
            key: key,
            value: serving.value,
            layer: serving.layer,
            source: serving.source,
            place: serving.layer == .store ? place : nil,
            shadowed: Dictionary(shadowed.map { ($0.layer, $0.value) }) { higher, _ in higher },
            problem: problem,
            text: text(of: serving.value),
            shadowedText: shadowed.map { ", over \(phrase($0))" }.joined()
        )
    }

    private var place: SettingsPersistence {
        engine.isStorageAvailable && engine.isPending(key)
            ? .ephemeral(reason: "it could not be saved yet") : suite.persistence
    }
}

extension Setting {
    private func phrase(_ candidate: Candidate) -> String {
        let text = text(of: candidate.value)
        if let source = candidate.source { return "\(text) given by \(source)" }
        return candidate.layer == .store ? "the stored \(text)" : "the \(candidate.layer) \(text)"
    }

    /// A value as people read it: what would be stored for it, which has an order of its own in sets.
    private func text(of value: Value) -> String {
        do {
            return try box.key.conversion.encode(value)?.description ?? "nil"
        } catch {
            return "\(value)"
        }
    }
}

/// Where a setting's value comes from.
public struct SettingExplanation<Value: Sendable>: Sendable {
    /// The key.
    public let key: String
    /// The value that serves.
    public let value: Value
    /// The layer it comes from.
    public let layer: SettingsLayer
    /// The flag or the variable that gives it, when it is overridden.
    public let source: String?
    /// Where that layer keeps it, when it is a store.
    public let place: SettingsPersistence?
    /// The values of lower layers, which this one hides.
    public let shadowed: [SettingsLayer: Value]
    /// Why a higher layer does not serve although it has a value, or why the store serves older values than it should.
    public let problem: SettingsError?

    let text: String
    let shadowedText: String
}

extension SettingExplanation: CustomStringConvertible {
    /// The explanation in a sentence, with the values: mind who reads it.
    public var description: String {
        var text = "\(key) = \(text)"
        if let source {
            text += ", given by \(source)"
        } else {
            text += place.map { ", \($0)" } ?? ", the \(layer)"
        }
        text += shadowedText
        if let problem { text += "; \(problem.message)" }
        return text
    }
}
