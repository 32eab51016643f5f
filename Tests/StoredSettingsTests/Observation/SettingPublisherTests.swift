// SPDX-License-Identifier: Apache-2.0

#if canImport(Combine)
import Combine
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// The values that a subscriber received, in order.
private final class Received<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    func add(_ value: Value) { values.withLock { $0.append(value) } }

    var all: [Value] { values.withLock { $0 } }
}

/// A subscriber that requests values one by one.
private final class OneByOneSubscriber: Subscriber {
    typealias Input = Int
    typealias Failure = Never

    private(set) var values: [Int] = []
    private var subscription: (any Subscription)?

    func receive(subscription: any Subscription) { self.subscription = subscription }

    func receive(_ input: Int) -> Subscribers.Demand {
        values.append(input)
        return .none
    }

    func receive(completion: Subscribers.Completion<Never>) {}

    func requestNext() { subscription?.request(.max(1)) }

    func cancel() { subscription?.cancel() }
}

@Suite("Publishers of a setting")
struct SettingPublisherTests {
    private let suite = SettingsSuite.inMemory()
    private let port: Setting<Int>

    init() {
        port = Setting("port", default: 1, suite: suite)
    }

    @Test("Row 32: a publisher publishes the current value and every change")
    func publisher() throws {
        let received = Received<Int>()
        let subscription = port.publisher.sink { received.add($0) }
        port.value = 2
        port.value = 2
        try port.reset()
        #expect(received.all == [1, 2, 1])
        subscription.cancel()
    }

    @Test("changePublisher publishes the old and new values, and nothing before the first change")
    func changes() {
        let received = Received<SettingChange<Int>>()
        let subscription = port.changePublisher.sink { received.add($0) }
        #expect(received.all.isEmpty)
        port.value = 2
        port.value = 3
        #expect(
            received.all == [
                SettingChange(old: 1, new: 2, origin: .local), SettingChange(old: 2, new: 3, origin: .local),
            ]
        )
        subscription.cancel()
    }

    @Test("a publisher starts with the current value for each subscription")
    func severalSubscribers() {
        let publisher = port.publisher
        port.value = 2
        let (first, second) = (Received<Int>(), Received<Int>())
        let one = publisher.sink { first.add($0) }
        port.value = 3
        let two = publisher.sink { second.add($0) }
        port.value = 4
        #expect(first.all == [2, 3, 4])
        #expect(second.all == [3, 4])
        one.cancel()
        port.value = 5
        #expect(first.all == [2, 3, 4])
        #expect(second.all == [3, 4, 5])
        two.cancel()
    }

    @Test("a canceled subscription ends and retains nothing")
    func canceledSubscription() {
        weak var weakReference: Received<Int>?
        do {
            let received = Received<Int>()
            weakReference = received
            let subscription = port.publisher.sink { received.add($0) }
            #expect(suite.engine.subscriberCount == 1)
            _ = consume subscription
        }
        #expect(suite.engine.subscriberCount == 0)
        #expect(weakReference == nil)
    }

    @Test("a slow subscriber receives the newest value")
    func demand() {
        let subscriber = OneByOneSubscriber()
        port.publisher.subscribe(subscriber)
        #expect(subscriber.values.isEmpty)
        port.value = 2
        port.value = 3
        subscriber.requestNext()
        #expect(subscriber.values == [3])
        subscriber.cancel()
        #expect(suite.engine.subscriberCount == 0)
    }
}
#endif
