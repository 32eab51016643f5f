// SPDX-License-Identifier: Apache-2.0

extension Double {
    /// The shortest text that reads as this number again; `nan`, `inf` and `-inf` for what JSON has no numbers for.
    var storedText: String {
        // All NaNs are one to a store, and the description of some tells them apart.
        isNaN ? "nan" : description
    }

    /// Reads the three texts that stand for what JSON has no numbers for, and no other text.
    init?(nonFiniteText text: String) {
        switch text {
        case "nan": self = .nan
        case "inf": self = .infinity
        case "-inf": self = -.infinity
        default: return nil
        }
    }

    /// Reads what ``storedText`` writes, and any other decimal number.
    init?(storedText text: String) {
        if let value = Double(nonFiniteText: text) {
            self = value
        } else {
            // The reading of the standard library takes more than decimal numbers: hexadecimal ones, "infinity".
            guard DecimalText(text) != nil, let value = Double(text) else { return nil }
            self = value
        }
    }
}
