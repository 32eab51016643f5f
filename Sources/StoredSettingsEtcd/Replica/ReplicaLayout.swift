// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "A condition on the whole prefix".

import StoredSettings

/// Where a suite's values are in etcd.
///
/// The key `PREFIXk/KEY` has the value of a setting as compact JSON. `PREFIXhead` has the ``CommitLog``. `PREFIXfence` is
/// written to find out whether a commit has happened. `PREFIXcluster` has the identifier of the cluster that a person has accepted.
/// Nothing outside of the prefix is read or written.
struct ReplicaLayout: Hashable, Sendable {
    let prefix: [UInt8]
    /// The prefix of the keys that have values.
    private let values: [UInt8]
    let head: [UInt8]
    let fence: [UInt8]
    let cluster: [UInt8]

    /// Creates the layout for a prefix.
    ///
    /// - Parameter prefix: The prefix. A slash is added if it does not end with one, so that no suite's prefix begins with
    ///   that of another one by accident.
    init(prefix: String) {
        let prefix = Array((prefix.hasSuffix("/") ? prefix : prefix + "/").utf8)
        self.prefix = prefix
        values = prefix + Array("k/".utf8)
        head = prefix + Array("head".utf8)
        fence = prefix + Array("fence".utf8)
        cluster = prefix + Array("cluster".utf8)
    }

    /// The value of ``cluster`` for a cluster.
    static func identifier(of clusterID: UInt64) -> [UInt8] { Array("\(clusterID)".utf8) }

    /// All keys of the suite.
    var range: EtcdKeyRange { EtcdKeyRange(prefix: prefix) }

    /// The key in etcd for the key of a setting.
    func name(ofKey key: String) -> [UInt8] { values + Array(key.utf8) }

    /// The key in etcd for the key of a setting, in the form that values have it.
    func name(ofKey key: String, in values: [String: StoredValue]) -> [UInt8] {
        name(ofKey: values.index(forKey: key).map { values[$0].key } ?? key)
    }

    /// The key of a setting; `nil` for a key in etcd that is not one of a value.
    func key(named name: [UInt8]) -> String? {
        guard name.count > values.count, name.starts(with: values) else { return nil }
        let bytes = name[values.count...]
        // Another program may have written a name that is not UTF-8.
        let key = String(decoding: bytes, as: UTF8.self)
        return key.utf8.elementsEqual(bytes) ? key : nil
    }

    /// Returns the bytes of a value.
    ///
    /// - Throws: `SettingsError` if the value is nested too deeply.
    static func bytes(of value: StoredValue) throws -> [UInt8] {
        try JSONWriter.compactText(of: value)
    }

    /// Returns the value of bytes.
    ///
    /// Bytes that are not JSON, which another program has written, are a string. So a setting of type `String` has them as its
    /// value, and a setting of another type reports that they do not fit.
    static func value(of bytes: [UInt8]) -> StoredValue {
        do throws(JSONSyntaxError) {
            return try JSONReader.read(bytes)
        } catch {
            return .string(String(decoding: bytes, as: UTF8.self))
        }
    }
}
