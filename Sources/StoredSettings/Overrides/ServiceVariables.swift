// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Overrides-and-migrations.md, "The variables of a Kubernetes Service are no settings".

/// The variables that a kubelet writes for each Service, such as `ACME_PORT=tcp://10.96.12.7:80` for one named `acme`.
///
/// Each port has four variables that fit together, such as `ACME_PORT_80_TCP_ADDR`. Another variable of the Service is
/// recognized by a value that follows from those of a port.
enum ServiceVariables {
    /// Whether a kubelet wrote a variable, out of the given ones or those of the process.
    static func contains(_ name: String, in variables: [String: String]?) -> Bool {
        // Most names need no search.
        guard name.contains("_PORT") || name.hasSuffix("_SERVICE_HOST") else { return false }
        return names(in: variables ?? SystemCalls.environment()).contains(name)
    }

    /// Returns the names of the variables that a kubelet wrote.
    static func names(in variables: [String: String]) -> Set<String> {
        var expected: [String: Set<String>] = [:]
        for (name, address) in variables where name.hasSuffix("_ADDR") && isAddress(address) {
            let link = String(name.dropLast("_ADDR".count))
            guard let port = variables[link + "_PORT"], let transport = variables[link + "_PROTO"] else { continue }
            let host = address.contains(":") ? "://[\(address)]:" : "://\(address):"
            let (url, suffix) = (transport + host + port, "_PORT_\(port)_\(transport.uppercased())")
            guard UInt16(port) != nil, ["tcp", "udp", "sctp"].contains(transport), link.hasSuffix(suffix),
                variables[link] == url
            else { continue }
            let service = link.dropLast(suffix.count)
            var own = [name: address, link + "_PORT": port, link + "_PROTO": transport, link: url]
            own["\(service)_SERVICE_HOST"] = address
            own["\(service)_PORT"] = url
            // The name of a port follows.
            own["\(service)_SERVICE_PORT_"] = port
            // Without a name, it is the first port, which the URL shows, unless the Pod replaces that variable.
            let first = variables["\(service)_PORT"] ?? url
            if first == url || !first.contains(host) { own["\(service)_SERVICE_PORT"] = port }
            for (name, value) in own { expected[name, default: []].insert(value) }
        }
        let found = variables.filter { name, value in
            let beginnings = name.indices.filter { name[$0] == "_" }.map { String(name[...$0]) }
            return ([name] + beginnings).contains { expected[$0]?.contains(value) == true }
        }
        return Set(found.keys)
    }

    private static func isAddress(_ text: String) -> Bool {
        let numbers = text.split(separator: ".", omittingEmptySubsequences: false)
        return text.contains(":")
            ? text.allSatisfy { $0.isHexDigit || ":.".contains($0) }
            : numbers.count == 4 && numbers.allSatisfy { UInt8($0) != nil }
    }
}
