// SPDX-License-Identifier: Apache-2.0

package import StoredSettings
package import Testing

/// Expects that a body throws an error of the library with a certain code.
///
/// - Returns: The error; `nil` if the body has thrown another one, or none.
@discardableResult
package func expectError<Result>(
    _ code: SettingsError.Code,
    _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Result
) -> SettingsError? {
    let error = #expect(throws: SettingsError.self, comment(), sourceLocation: sourceLocation) { _ = try body() }
    if let error { #expect(error.code == code, comment(), sourceLocation: sourceLocation) }
    return error
}

/// Expects that an asynchronous body throws an error of the library with a certain code.
///
/// - Returns: The error; `nil` if the body has thrown another one, or none.
@discardableResult
package func expectError<Result>(
    _ code: SettingsError.Code,
    _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation,
    isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Result
) async -> SettingsError? {
    var error: SettingsError?
    do {
        _ = try await body()
        Issue.record(
            comment() ?? "no error was thrown, instead of one with the code \(code)",
            sourceLocation: sourceLocation
        )
    } catch let thrown as SettingsError {
        error = thrown
        #expect(thrown.code == code, comment(), sourceLocation: sourceLocation)
    } catch {
        Issue.record(error, comment(), sourceLocation: sourceLocation)
    }
    return error
}
