// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

/// Writes variables as a kubelet does.
enum Kubelet {
    /// Returns the variables that a kubelet writes for a Service.
    ///
    /// - Parameters:
    ///   - name: The name of the Service in capital letters.
    ///   - address: Its address.
    ///   - ports: The names, protocols and numbers of its ports; an empty name for none.
    /// - Returns: The variables.
    static func variables(
        _ name: String,
        _ address: String,
        _ ports: [(name: String, transport: String, number: Int)]
    ) -> [String: String] {
        let host = address.contains(":") ? "[\(address)]" : address
        var variables = ["\(name)_SERVICE_HOST": address, "\(name)_SERVICE_PORT": "\(ports[0].number)"]
        variables["\(name)_PORT"] = "\(ports[0].transport)://\(host):\(ports[0].number)"
        for port in ports {
            if !port.name.isEmpty { variables["\(name)_SERVICE_PORT_\(port.name)"] = "\(port.number)" }
            let link = "\(name)_PORT_\(port.number)_\(port.transport.uppercased())"
            variables[link] = "\(port.transport)://\(host):\(port.number)"
            variables[link + "_PROTO"] = port.transport
            variables[link + "_PORT"] = "\(port.number)"
            variables[link + "_ADDR"] = address
        }
        return variables
    }

    static let acme = variables("ACME", "10.96.12.7", [("HTTP", "tcp", 80), ("METRICS_PATH", "tcp", 9090)])
}

@Suite("Variables of Kubernetes Services", .deadlockLimit)
struct ServiceVariableTests {
    private let reporter = RecordingReporter()

    private struct Server: Sendable {
        @DefaultStorage(key: "port") var port = 1
        @DefaultStorage(key: "service.host") var host = "none"
        @DefaultStorage(key: "service.port") var servicePort = 2
        @DefaultStorage(key: "service.portHttp") var namedPort = 3
        @DefaultStorage(key: "db.service.host") var database = "none"
        @DefaultStorage(key: "port-80.tcpAddr") var address = "none"
    }

    private func makeCatalog(_ variables: [String: String], files: Bool = false) -> (Server, SettingsCatalog) {
        let override = SettingsSource.environment(variables, prefix: "ACME_", files: files)
        let server = SettingsSuite.withStandard(.inMemory(sources: [override], reporter: reporter)) { Server() }
        return (server, SettingsCatalog(server))
    }

    @Test(
        "are no settings and no unknown variables, whatever the protocol, the addresses and the ports are",
        arguments: [
            Kubelet.acme,
            Kubelet.variables("ACME", "10.96.12.7", [("", "tcp", 80)]),
            Kubelet.variables("ACME", "fd00:10:96::a", [("HTTP", "tcp", 80)]),
            Kubelet.variables("ACME", "10.96.0.10", [("DNS", "udp", 53), ("DNS_TCP", "tcp", 53), ("X", "sctp", 9)]),
            Kubelet.variables("ACME", "10.96.12.7", [("HTTP", "tcp", 80)])
                .merging(Kubelet.variables("ACME_DB", "10.96.0.9", [("", "tcp", 5_432)])) { $1 },
            Kubelet.variables("ACME_DB_SERVICE_PORT", "10.96.0.9", [("HTTP", "tcp", 80)]),
            Kubelet.variables("ACME", "10.96.12.7", [("FILE", "tcp", 80)]),
        ]
    )
    func ignored(_ variables: [String: String]) throws {
        for files in [false, true] {
            let (server, catalog) = makeCatalog(variables, files: files)
            #expect(catalog.findProblems().errors.map(\.message) == [])
            #expect(catalog.exitCodeIfInvalid() == nil)
            #expect((server.port, server.servicePort, server.namedPort) == (1, 2, 3))
            #expect([server.host, server.database, server.address] == ["none", "none", "none"])
            #expect(server.$host.explain().layer == .default)
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test("are settings where a Pod gives them other values than a kubelet, and the others remain ignored")
    func replaced() {
        var variables = Kubelet.acme
        variables["ACME_PORT"] = "8080"
        variables["ACME_SERVICE_HOST"] = "api.example.com"
        variables["ACME_SERVICE_PORT_HTTP"] = "8081"
        let (server, catalog) = makeCatalog(variables)
        #expect((server.port, server.servicePort, server.namedPort) == (8_080, 2, 8_081))
        #expect(server.host == "api.example.com")
        #expect(catalog.findProblems().errors.isEmpty)
        // The number of another port of the Service.
        let (second, _) = makeCatalog(Kubelet.acme.merging(["ACME_SERVICE_PORT": "9090"]) { $1 })
        #expect((second.port, second.servicePort) == (1, 9_090))
    }

    @Test(
        "are settings or unknown if one of the four variables of a port is missing or differs",
        arguments: ["", "_PROTO", "_PORT", "_ADDR"],
        [nil, "udp", "tcp://10.96.12.7:81", "10.96.12.8", "example.com", "81"]
    )
    func inconsistent(_ suffix: String, _ value: String?) {
        var variables = Kubelet.variables("ACME", "10.96.12.7", [("", "tcp", 80)])
        variables["ACME_PORT_80_TCP" + suffix] = value
        let (server, catalog) = makeCatalog(variables)
        #expect((server.host, server.servicePort) == ("10.96.12.7", 80))
        #expect(catalog.findProblems().errors.map(\.code).contains(.unknownVariable))
    }

    @Test("of a user are never ignored")
    func user() {
        let variables = [
            "ACME_PORT": "8080", "ACME_SERVICE_HOST": "10.96.12.7", "ACME_SERVICE_PORT": "80",
            "ACME_SERVICE_PORT_HTTP": "80", "ACME_DB_SERVICE_HOST": "10.96.0.9", "ACME_PORT_80_TCP_ADDR": "10.96.12.7",
        ]
        let (server, catalog) = makeCatalog(variables)
        #expect((server.port, server.servicePort, server.namedPort) == (8_080, 80, 80))
        #expect([server.host, server.database, server.address] == ["10.96.12.7", "10.96.0.9", "10.96.12.7"])
        #expect(catalog.findProblems().errors.isEmpty)
        let (other, _) = makeCatalog(["ACME_PORT": "tcp://10.96.12.7:80"])
        #expect(other.port == 1)
        #expect(reporter.errors.map(\.key) == ["port"])
    }

    @Test("with a host name in place of the address were not written by a kubelet")
    func hostName() {
        let (server, _) = makeCatalog(Kubelet.variables("ACME", "db.example.com", [("", "tcp", 80)]))
        #expect(server.host == "db.example.com")
        #expect(server.servicePort == 80)
    }
}
