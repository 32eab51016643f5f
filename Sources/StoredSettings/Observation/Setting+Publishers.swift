// SPDX-License-Identifier: Apache-2.0

#if canImport(Combine)
public import Combine

extension Setting {
    /// Publishes the current value, and then the new value after every change.
    ///
    /// Each subscriber receives values on the threads described at ``observe(initial:_:)``, under no lock. A subscriber
    /// whose demand is too low receives the newest value. The publisher does not complete; cancel the subscription.
    public var publisher: AnyPublisher<Value, Never> {
        published(initial: true, \.new)
    }

    /// Publishes every change after the subscription, with the values before and after it.
    ///
    /// As with ``publisher``, a subscriber whose demand is too low receives the newest change.
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

/// The subject of one subscriber, with its last output; `nil` at first.
///
/// Unchecked: a subject may be used on any thread, but Combine does not declare it as `Sendable`.
private final class Latest<Output>: @unchecked Sendable {
    let subject = CurrentValueSubject<Output?, Never>(nil)
}
#endif
