/// A file that isn't text, known by its first bytes: a table to convert, or lists to unpack.
struct BinaryList {
  let name: String
  /// What to do, with `FILE` in place of the name.
  let remedy: String

  private struct Signature {
    var bytes: [UInt8]
    var list: BinaryList

    init(_ text: String, _ bytes: [UInt8], _ name: String, _ remedy: String) {
      self.bytes = Array(text.utf8) + bytes
      list = BinaryList(name, remedy)
    }
  }

  private static let duckDB = #"convert it: duckdb -c "COPY (SELECT * FROM 'FILE') TO 'FILE.csv'""#
  private static let office = "convert it: soffice --headless --convert-to csv FILE"

  /// The conversion of the table that `expression` reads with a module `t` of pyarrow.
  private static func pyarrow(_ module: String, _ expression: String = "t.read_table('FILE')") -> String {
    #"convert it: python3 -c "import pyarrow.csv as c, pyarrow.\#(module) as t; c.write_csv(\#(expression), 'FILE.csv')""#
  }

  private static let signatures = [
    Signature("PAR1", [], "a Parquet file", duckDB), Signature("PARE", [], "an encrypted Parquet file", "decrypt and convert it"),
    Signature("ORC", [], "an ORC file", pyarrow("orc")),
    Signature("ARROW1", [], "an Arrow or Feather file", pyarrow("feather")),
    Signature("FEA1", [], "a Feather file", pyarrow("feather")),
    Signature("", [0xff, 0xff, 0xff, 0xff], "an Arrow stream", pyarrow("ipc", "t.open_stream(open('FILE', 'rb')).read_all()")),
    Signature("Obj", [1], "an Avro file", "convert it: fastavro FILE > FILE.jsonl"),
    Signature(
      "SQLite format 3",
      [],
      "an SQLite database",
      "export its URLs: sqlite3 -csv -header FILE 'SELECT url FROM images' > FILE.csv"
    ),
    Signature("PK", [3, 4], "a zip archive", "extract it: unzip FILE"),
    Signature("", [0xd0, 0xcf, 0x11, 0xe0], "an Office document", office),
    Signature("%PDF", [], "a PDF file", "save its URLs as text"),
    Signature("BZh", [], "a bzip2 file", "decompress it: bunzip2 -k FILE"),
    Signature("", [0xfd, 0x37, 0x7a, 0x58, 0x5a], "an xz file", "decompress it: unxz -k FILE"),
    Signature("", [0x28, 0xb5, 0x2f, 0xfd], "a zstd file", "decompress it: unzstd FILE"),
    Signature("", [0x04, 0x22, 0x4d, 0x18], "an LZ4 file", "decompress it: lz4 -d FILE"),
    Signature("", [0x1f, 0x9d], "a compress (.Z) file", "decompress it: zcat FILE > FILE.txt"),
    Signature("7z", [0xbc, 0xaf], "a 7z archive", "extract it: 7z x FILE"),
    Signature("Rar!", [0x1a, 7], "a RAR archive", "extract it: unrar x FILE"),
  ]

  private init(_ name: String, _ remedy: String) { (self.name, self.remedy) = (name, remedy) }

  /// Returns nil if the file doesn't begin like one of these.
  init?(_ bytes: UnsafeRawBufferPointer) {
    if let known = Self.signatures.first(where: { bytes.starts(with: $0.bytes) }) {
      // The name of an archive's first file (PKWARE's APPNOTE, section 4.3.7).
      let first = bytes.dropFirst(30)
      let isWorkbook = ["[Content_Types].xml", "_rels/", "xl/", "docProps/", "mimetypeapplication/vnd.oasis"].contains {
        first.starts(with: $0.utf8)
      }
      self = known.bytes.starts(with: "PK".utf8) && isWorkbook ? BinaryList("a spreadsheet", Self.office) : known.list
    } else if bytes.dropFirst(257).starts(with: "ustar".utf8) {
      self.init("a tar archive", "extract it: tar -xf FILE")
    } else {
      return nil
    }
  }

  /// Whether more bytes are needed to know that a file isn't one of these.
  static func mayFollow(_ bytes: UnsafeRawBufferPointer) -> Bool {
    signatures.contains { $0.bytes.count > bytes.count && $0.bytes.starts(with: bytes) }
  }
}
