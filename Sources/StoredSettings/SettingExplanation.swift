// SPDX-License-Identifier: Apache-2.0

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
    /// // port = 9090, kept in /home/ada/.config/com.acme.server/settings.json, over the default 8080
    /// ```
    public func explain() -> SettingExplanation<Value> {
        let problem = engine.store.problem.map { box.naming($0, as: .readFailed) }
        do {
            if let value = try engine.value(forKey: key).map(box.decode) {
                return explanation(value, from: .store, problem: problem)
            }
            if let value = try engine.store.fallback(forKey: key).map(box.decode) {
                return explanation(value, from: .fallback, problem: problem)
            }
            return explanation(defaultValue, from: .default, problem: problem)
        } catch {
            return explanation(defaultValue, from: .default, problem: box.naming(error, as: .invalidValue))
        }
    }

    private func explanation(
        _ value: Value,
        from layer: SettingsLayer,
        problem: SettingsError?
    ) -> SettingExplanation<Value> {
        SettingExplanation(
            key: key,
            value: value,
            layer: layer,
            place: layer == .store ? place : nil,
            shadowed: layer == .default ? [:] : [.default: defaultValue],
            problem: problem,
            text: text(of: value),
            defaultText: text(of: defaultValue)
        )
    }

    private var place: SettingsPersistence {
        engine.isUnsaved(key) ? .ephemeral(reason: "it could not be saved yet") : suite.persistence
    }
}

extension Setting {
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
    /// Where that layer keeps it, when it is a store.
    public let place: SettingsPersistence?
    /// The values of lower layers, which this one hides.
    public let shadowed: [SettingsLayer: Value]
    /// Why a higher layer does not serve although it has a value, or why the store serves older values than it should.
    public let problem: SettingsError?

    let text: String
    let defaultText: String
}

extension SettingExplanation: CustomStringConvertible {
    /// The explanation in a sentence, with the values: mind who reads it.
    public var description: String {
        var text = "\(key) = \(text)"
        text += layer == .default ? ", the default" : place.map { ", \($0)" } ?? ""
        if !shadowed.isEmpty { text += ", over the default \(defaultText)" }
        if let problem { text += "; \(problem.message)" }
        return text
    }
}
