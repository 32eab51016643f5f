// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "A checkpoint edits the text of the file".

extension JSONReader {
    /// Skips white space, and in a settings file comments.
    mutating func skipWhitespace() throws(JSONSyntaxError) {
        while true {
            switch byte(at: position) {
            case JSONByte.space, JSONByte.lineFeed, JSONByte.carriageReturn, JSONByte.tab: position += 1
            case JSONByte.solidus where dialect == .settingsFile: try skipComment()
            default: return
            }
        }
    }

    /// Skips the comment whose solidus is at the position.
    ///
    /// A line comment ends before the line break or at the end of the input. Other comments are not nested. A NUL is
    /// rejected, because a file that contains one was damaged.
    private mutating func skipComment() throws(JSONSyntaxError) {
        let start = position
        let isLineComment = byte(at: start + 1) == JSONByte.solidus
        guard isLineComment || byte(at: start + 1) == JSONByte.asterisk else {
            throw failure("a '/' does not begin a comment, which begins with '//' or '/*'", at: start)
        }
        position += 2
        while position < bytes.count {
            switch byte(at: position) {
            case JSONByte.lineFeed where isLineComment, JSONByte.carriageReturn where isLineComment:
                return
            case JSONByte.asterisk where !isLineComment && byte(at: position + 1) == JSONByte.solidus:
                position += 2
                return
            case 0:
                throw failure("a comment contains a NUL", at: position)
            case 0x80...:
                let length = scalarLength(at: position)
                guard length > 0 else { throw failure("a comment is not valid UTF-8", at: position) }
                position += length
            default:
                position += 1
            }
        }
        guard isLineComment else { throw failure("a comment is not closed; expected '*/'", at: start) }
    }
}
