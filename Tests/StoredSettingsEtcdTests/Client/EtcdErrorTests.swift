// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsCommand
import Testing

@testable import StoredSettingsEtcd

@Suite("The errors of a store in etcd")
struct EtcdErrorTests {
    @Test(
        "A failure of etcd has the exit code of its kind",
        arguments: [
            (EtcdError.Code.unavailable, CommandExit.unavailable), (.timedOut, CommandExit.unavailable),
            (.compacted(nil), CommandExit.unavailable), (.watchEnded, CommandExit.unavailable),
            (.permissionDenied, CommandExit.noPermission), (.authenticationFailed, CommandExit.noPermission),
            (.malformedResponse, CommandExit.noPermission), (.rejected(9), CommandExit.noPermission),
            (.tooManyOperations, CommandExit.data), (.requestTooLarge, CommandExit.data),
            (.responseTooLarge, CommandExit.input), (.noSpace, CommandExit.input),
        ]
    )
    func exitCode(_ code: EtcdError.Code, _ expected: Int32) {
        let error = SettingsError(EtcdError(code, "the request has failed"), .nothingChanged)
        #expect(CommandExit.code(of: error) == expected)
    }

    @Test("A change whose outcome is unknown has the exit code of a temporary failure")
    func unknownOutcome() {
        let error = SettingsError.outcomeUnknown(EtcdError(.timedOut, "no server has answered"))
        #expect(CommandExit.code(of: error) == CommandExit.temporary)
    }
}
