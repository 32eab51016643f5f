// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

#if !canImport(ObjectiveC)
/// Keeps objects from an archiver that would end the process.
///
/// On Linux Foundation has a name only for classes at the top level of a module, and ends the process for others, such as nested,
/// private and generic ones. An archiver that requires secure coding does the same for a part that is not securely coded. So the
/// archiver must not require it: this checks it. Such an object is left out here, and ``failure`` says so.
final class ArchiveGuard: NSObject, NSKeyedArchiverDelegate {
    /// What cannot be archived, if anything.
    private(set) var failure: SettingsError?

    func archiver(_ archiver: NSKeyedArchiver, willEncode object: Any) -> Any? {
        guard type(of: object) is AnyClass, let failure = Self.failure(of: object as AnyObject) else { return object }
        self.failure = self.failure ?? failure
        return NSNull()
    }

    func archiver(_ archiver: NSKeyedArchiver, didEncode object: Any?) {}
    func archiver(_ archiver: NSKeyedArchiver, willReplace object: Any?, withObject newObject: Any?) {}
    func archiverWillFinish(_ archiver: NSKeyedArchiver) {}
    func archiverDidFinish(_ archiver: NSKeyedArchiver) {}

    private static func failure(of object: AnyObject) -> SettingsError? {
        let type: AnyClass = (object as? NSObject)?.classForKeyedArchiver ?? Swift.type(of: object)
        guard let secure = type as? any NSSecureCoding.Type, secure.supportsSecureCoding else {
            return .unstorable("the class \(type) of an object, or of a part of it, is not securely coded")
        }
        guard String(reflecting: type).split(separator: ".").count == 2 else {
            var error = SettingsError.unstorable(
                "Foundation cannot archive the class \(type) on Linux, because it is nested, private or generic"
            )
            error.remedy = "declare the class at the top level of its module, and neither private nor generic"
            return error
        }
        return nil
    }
}
#endif
