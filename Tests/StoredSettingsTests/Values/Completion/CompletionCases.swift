// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension CompletionCase {
    private static let noPace = Optional<Pace>.none
    private static let night = Service(name: "n", night: nil)

    /// Values that lack a member of their own, or of a member.
    static let members: [CompletionCase] = [
        .init("a member", #"{"perSecond": 50}"#, over: Pace(), is: Pace(perSecond: 50, burst: 20)),
        .init("all members", "{}", over: Pace(burst: 7), is: Pace(burst: 7)),
        .init("an optional member", #"{"burst": 5}"#, over: Pace(note: "d"), is: Pace(burst: 5, note: "d")),
        .init("an optional member that is null", #"{"note": null}"#, over: Pace(note: "d"), is: Pace()),
        .init("unknown members are ignored", #"{"new": 1, "burst": 5}"#, over: Pace(), is: Pace(burst: 5)),
        .unusable("a null is not missing", #"{"perSecond": null}"#, over: Pace(), at: .key("perSecond")),
        .unusable("a wrong kind", #"{"burst": "x"}"#, over: Pace(), at: .key("burst")),
        .init(
            "a nested member",
            #"{"pace": {"burst": 3}, "night": {"burst": 9}}"#,
            over: Service(),
            is: Service(pace: Pace(burst: 3), night: Pace(perSecond: 1, burst: 9))
        ),
        .unusable("a null struct is not missing", #"{"pace": null}"#, over: Service(), at: .key("pace")),
        .init("an optional struct", #"{"name": "x"}"#, over: Service(), is: Service(name: "x")),
        .init("an optional struct that is null", #"{"night": null}"#, over: Service(), is: Service(night: nil)),
        .unusable(
            "an optional struct that the default lacks",
            #"{"night": {"burst": 9}}"#,
            over: night,
            at: .key("night")
        ),
        .init("an optional value", #"{"burst": 3}"#, over: Optional(Pace()), is: Pace(burst: 3)),
        .init("an optional of an optional", #"{"burst": 3}"#, over: Pace??.some(Pace()), is: Pace(burst: 3)),
        .unusable("an optional value whose default is nil", #"{"burst": 3}"#, over: noPace),
        .init(
            "a generic type",
            #"{"second": {"burst": 3}}"#,
            over: Page(first: Pace(), second: Pace()),
            is: Page(first: Pace(), second: Pace(burst: 3))
        ),
        .init("members with forms of their own", #"{"mode": "fast"}"#, over: Mixed(), is: Mixed(mode: .fast)),
        .init("a member that is any value is a whole", #"{"any": {"a": 9}}"#, over: Mixed(), is: Mixed(any: ["a": 9])),
    ]

    /// Values with collections, whose elements are never completed.
    static let elements: [CompletionCase] = [
        .init(
            "collections that are missing",
            #"{"night": {"perSecond": 3}}"#,
            over: Service(),
            is: Service(night: Pace(perSecond: 3, burst: 2))
        ),
        .unusable("an element of an array", #"{"list": [{"burst": 3}]}"#, over: Service(), at: .key("list"), .index(0)),
        .unusable("an element of a set", #"{"set": [{"burst": 3}]}"#, over: Service(), at: .key("set"), .index(0)),
        .unusable(
            "an entry of a dictionary",
            #"{"byRegion": {"eu": {"burst": 3}}}"#,
            over: Service(),
            at: .key("byRegion"),
            .key("eu")
        ),
        .unusable(
            "an entry of a dictionary with other keys",
            #"{"byCode": {"1": {"burst": 3}}}"#,
            over: Service(),
            at: .key("byCode"),
            .key("1")
        ),
        .init(
            "entries are not added",
            #"{"byRegion": {}, "list": []}"#,
            over: Service(),
            is: Service(list: [], byRegion: [:])
        ),
        .unusable("an array", #"[{"burst": 3}]"#, over: [Pace()], at: .index(0)),
        .unusable("a dictionary", #"{"eu": {"burst": 3}}"#, over: ["eu": Pace()], at: .key("eu")),
    ]

    /// Enums, classes and types that decode themselves.
    static let containers: [CompletionCase] = [
        .init("another case than the default's", #"{"unlimited": {}}"#, over: Limit.shared(Pace()), is: .unlimited),
        .unusable("no case", "{}", over: Limit.unlimited),
        .init(
            "a value of the default's case",
            #"{"paced": {"burst": 3}}"#,
            over: Limit.paced(perSecond: 1, burst: 2),
            is: .paced(perSecond: 1, burst: 3)
        ),
        .unusable(
            "a value of another case",
            #"{"paced": {"burst": 3}}"#,
            over: Limit.shared(Pace()),
            at: .key("paced")
        ),
        .init(
            "a struct in a case",
            #"{"shared": {"_0": {"burst": 3}}}"#,
            over: Limit.shared(Pace()),
            is: .shared(Pace(burst: 3))
        ),
        .init(
            "a class",
            #"{"rack": 9, "super": {"cores": 8, "memory": 64}}"#,
            over: Server(),
            is: Server(cores: 8, memory: 64, rack: 9)
        ),
        .init(
            "a superclass",
            #"{"rack": 9, "unit": 8, "super": {"cores": 8}}"#,
            over: Server(),
            is: Server(cores: 8, rack: 9, unit: 8)
        ),
        .init("a superclass without members", #"{"unit": 8}"#, over: Server(), is: Server(unit: 8)),
        .unusable("a superclass that is null", #"{"unit": 8, "super": null}"#, over: Server(), at: .key("super")),
        .init(
            "older names of a type",
            #"{"oldLevel": 7, "oldSize": 8}"#,
            over: Renamed(),
            is: Renamed(level: 7, size: 8, extra: -1)
        ),
        .init("no older name", #"{"size": 8}"#, over: Renamed(), is: Renamed(size: 8)),
        .init(
            "the first form of a type that has two",
            #"{"id": 7}"#,
            over: Either.full(.init(id: 1, label: "d")),
            is: .full(.init(id: 7, label: "d"))
        ),
    ]

    /// Conversions of other kinds.
    static let conversions: [CompletionCase] = [
        .unusable("a type with a raw value", #"{"x": 1}"#, over: Both(x: 1, y: 2)),
        .init(
            "a conversion that uses another one",
            #"{"burst": 3}"#,
            over: OwnConversion(),
            is: OwnConversion(pace: Pace(burst: 3))
        ),
        .unusable("a conversion that reads a part", #"{"pace": {"burst": 3}}"#, over: Enclosed()),
        .init(
            "a type that is stored as a struct",
            #"{"burst": 3}"#,
            over: Wrapped(),
            is: Wrapped(stored: Pace(burst: 3))
        ),
        .init("the bridge for Codable", #"{"burst": 3}"#, over: Pace(), by: CodableBridge(), is: Pace(burst: 3)),
        .init(
            "the bridge for Codable, optional",
            #"{"burst": 3}"#,
            over: Pace(),
            by: CodableBridge<Pace>().optional,
            is: Pace(burst: 3)
        ),
        .init(
            "a bridge that uses the conversion",
            #"{"burst": 3}"#,
            over: Pace(),
            by: PaceBridge(),
            is: Pace(burst: 3)
        ),
    ]

    static let all = members + elements + containers + conversions
}
