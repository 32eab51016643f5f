// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StoredSettings

@Suite("Override names of keys")
struct OverrideNameTests {
    @Test(
        "the flag and the variable of a key consist of its words",
        arguments: [
            ("port", "port", "ACME_PORT"),
            ("logLevel", "log-level", "ACME_LOG_LEVEL"),
            ("log.level", "log-level", "ACME_LOG_LEVEL"),
            ("log_level", "log-level", "ACME_LOG_LEVEL"),
            ("log-level", "log-level", "ACME_LOG_LEVEL"),
            ("Log Level", "log-level", "ACME_LOG_LEVEL"),
            ("LOG_LEVEL", "log-level", "ACME_LOG_LEVEL"),
            ("maxURLLength", "max-url-length", "ACME_MAX_URL_LENGTH"),
            ("userURLId", "user-url-id", "ACME_USER_URL_ID"),
            ("URL", "url", "ACME_URL"),
            ("allowedURLs", "allowed-urls", "ACME_ALLOWED_URLS"),
            ("allowedURLsPerHost", "allowed-urls-per-host", "ACME_ALLOWED_URLS_PER_HOST"),
            ("userIDs", "user-ids", "ACME_USER_IDS"),
            ("userIDs2", "user-ids2", "ACME_USER_IDS2"),
            ("user.IDs.first", "user-ids-first", "ACME_USER_IDS_FIRST"),
            ("APIs", "apis", "ACME_APIS"),
            ("APIState", "api-state", "ACME_API_STATE"),
            ("URLstring", "ur-lstring", "ACME_UR_LSTRING"),
            ("http2Port", "http2-port", "ACME_HTTP2_PORT"),
            ("port2", "port2", "ACME_PORT2"),
            ("_private.", "private", "ACME_PRIVATE"),
            ("größeMax", "größe-max", "ACME_GRÖSSE_MAX"),
        ]
    )
    func names(key: String, flag: String, variable: String) {
        #expect(OverrideName.flag(forKey: key) == flag)
        #expect(OverrideName.variable(forKey: key, prefix: "ACME_") == variable)
    }

    @Test("a key without words has no flag and no variable", arguments: ["", "🙂", "-", "@."])
    func keyWithoutWords(key: String) {
        #expect(OverrideName.flag(forKey: key) == "")
        #expect(OverrideName.variable(forKey: key, prefix: "ACME_") == nil)
    }

    @Test("the prefix of variables is used as given")
    func prefix() {
        #expect(OverrideName.variable(forKey: "temp", prefix: "MORE") == "MORETEMP")
    }
}
