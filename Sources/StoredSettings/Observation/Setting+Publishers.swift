// SPDX-License-Identifier: Apache-2.0

#if canImport(Combine)
public import Combine

extension Setting {
    /// The current value, and then every change of it, by whomever.
    ///
    /// Each subscriber gets its own, on the threads that ``observe(initial:_:)`` tells of, under no lock. One that asks for
    /// less than there is gets the newest value. It ends when it is cancelled, and not by itself.
    public var publisher: AnyPublisher<Value, Never> {
        published(initial: true, \.new)
    }

    /// Every change from the subscription on, by whomever, with the values before and after.
    ///
    /// Otherwise it is as ``publisher``: one that asks for less than there is gets the newest change.
    public var changePublisher: AnyPublisher<SettingChange<Value>, Never> {
        published(initial: false, \.self)
    }

    private func published<Output>(
        initial: Bool,
        _ output: @escaping @Sendable (SettingChange<Value>) -> Output
    ) -> AnyPublisher<Output, Never> {
        Deferred {
            let latest = Latest<Output>()
            let observation = observe(initial: initial) { latest.subject.send(output($0)) }
            return latest.subject.compactMap { $0 }
                .handleEvents(receiveCancel: { observation.invalidate() })
        }
        .eraseToAnyPublisher()
    }
}

/// What was published last to one subscriber; `nil` when nothing was.
///
/// Unchecked: a subject may be used by any thread, which Combine does not tell the compiler.
private final class Latest<Output>: @unchecked Sendable {
    let subject = CurrentValueSubject<Output?, Never>(nil)
}
#endif
