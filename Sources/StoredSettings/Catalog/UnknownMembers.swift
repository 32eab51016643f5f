// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "A member that a type ignores is an unknown key".

extension Setting {
    package func unknownMembers(in stored: StoredValue) -> [SettingsError] {
        unknownMembers(in: stored) { nil }
    }

    private func unknownMembers(
        in stored: StoredValue,
        at place: () -> SettingsError.Location?
    ) -> [SettingsError] {
        let search = MemberSearch(of: box.presentForm(of: stored)) { stored in
            do {
                return try box.conversion.encode(box.convert(stored) { defaultValue })
            } catch {
                return nil
            }
        }
        return search?.found
            .map { member in
                var error = SettingsError.unknownMember(member.name, others: member.others, isSecret: box.hasSecret)
                if !box.hasSecret { error.path = member.path }
                error.location = place()
                return box.naming(error, as: .unknownKey)
            } ?? []
    }

    package func unknownMembers() -> [SettingsError] {
        var errors: [SettingsError] = []
        // What is used while a file cannot be read is not in the file.
        if engine.store.problem == nil, let stored = box.storedValue {
            errors += unknownMembers(in: stored) { engine.store.location(ofValueForKey: box.storedKey ?? key) }
        }
        for document in suite.layers?.snapshot.documents ?? [] {
            guard let (name, stored) = document.value(for: box.key.storedKeys) else { continue }
            errors += unknownMembers(in: stored) { document.location(ofValueForKey: name) }
        }
        return errors
    }
}

extension SettingsError {
    fileprivate static func unknownMember(_ name: String, others: [String], isSecret: Bool) -> SettingsError {
        let similar = isSecret ? nil : Similarity.best(for: name, among: others)
        return SettingsError(
            .unknownKey,
            fact: isSecret
                ? "the value has a member that the setting does not have" : "the setting has no such member",
            consequence: "the member has no effect",
            remedy: similar.map { "rename it to '\($0)' if that is meant, or remove it" } ?? "remove it"
        )
    }
}
