// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

#if !canImport(ObjectiveC)
/// Withholds objects from an archiver that would end the process.
///
/// On Linux, Foundation only has names for classes at the top level of a module. It ends the process for others, such
/// as nested, private and generic classes. An archiver that requires secure coding also ends the process for a part
/// without secure coding. So the archiver does not require it, and this delegate checks it instead. Such an object is
/// omitted, and ``failure`` describes it.
final class ArchiveGuard: NSObject, NSKeyedArchiverDelegate {
    /// The error for an object that cannot be archived.
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
            return .unstorable("the class \(type) of the object or of one of its parts does not support secure coding")
        }
        guard String(reflecting: type).split(separator: ".").count == 2 else {
            var error = SettingsError.unstorable(
                "Foundation on Linux cannot archive the class \(type), which is nested, private or generic"
            )
            error.remedy = "declare the class at the top level of its module, neither private nor generic"
            return error
        }
        return nil
    }
}
#endif
