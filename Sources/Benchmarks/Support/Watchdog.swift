// SPDX-License-Identifier: Apache-2.0

/// Does something after a minute unless it is cancelled: so that a wake that never comes fails a row, and does not hang
/// the run.
func watchdog(_ bite: @escaping @Sendable () -> Void) -> Task<Void, Never> {
    Task {
        do {
            try await Task.sleep(for: .seconds(60))
            bite()
        } catch {
            // It was cancelled: all went well.
        }
    }
}
