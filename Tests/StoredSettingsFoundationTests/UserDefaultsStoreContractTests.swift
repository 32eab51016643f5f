// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettingsFoundation

extension UserDefaultsTests {
    /// A store and its domain, so that another store can be created over the same domain.
    @Suite("UserDefaultsStore and the contract")
    struct Contract {
        typealias Clause = SettingsStoreContract.Clause

        /// The clauses that Foundation cannot fulfill.
        static var exceptions: Set<Clause> {
            #if canImport(ObjectiveC)
            []
            #else
            [.watching]
            #endif
        }

        private static func contract(
            except exceptions: Set<Clause>,
            timeout: Duration = noTimeout / 4,
            _ newDomain: @escaping @Sendable () -> TestDomain
        ) -> SettingsStoreContract {
            SettingsStoreContract(
                named: "UserDefaultsStore",
                timeout: timeout,
                makeStore: {
                    let domain = newDomain()
                    return UserDefaultsStore(try domain.open(), name: domain.name)
                },
                reopen: { store in
                    UserDefaultsStore(try TestDomain(name: store.name).open(), name: store.name)
                },
                except: exceptions
            )
        }

        @Test(
            "a store over UserDefaults fulfills every clause except those that Foundation cannot fulfill",
            arguments: Clause.all.filter { !exceptions.contains($0) }
        )
        func fulfills(_ clause: Clause) async throws {
            try await withDomains { newDomain in
                let contract = Self.contract(except: Self.exceptions, newDomain)
                #expect(contract.clauses == Clause.all.filter { !Self.exceptions.contains($0) })
                let violations = await contract.violations(of: clause)
                #expect(violations == [])
            }
        }

        @Test("the store violates the excluded clauses", arguments: exceptions)
        func violates(_ clause: Clause) async throws {
            try await withDomains { newDomain in
                let contract = Self.contract(except: [], timeout: .milliseconds(50), newDomain)
                let violations = await contract.violations(of: clause)
                #expect(violations != [])
            }
        }
    }
}
