import ImageCoding
import Base

enum ImageBenchmarks {
  static var all: [Benchmark] {
    let examples = [("jpeg", "photo-small.jpg"), ("png", "rgba.png"), ("webp", "lossy.webp"), ("gif", "still.gif")]
    return examples.flatMap { format, file in
      [header("header-\(format)", file), proof("proof-\(format)", file), pixels("decode-\(format)", file)]
    }
  }

  private static func header(_ name: String, _ file: String) -> Benchmark {
    coding(name, file, operations: 500) { coder, bytes throws(ImageError) in
      keep(try coder.header(of: bytes, isComplete: true))
    }
  }

  private static func proof(_ name: String, _ file: String) -> Benchmark {
    coding(name, file, operations: 2) { coder, bytes throws(ImageError) in
      keep(try coder.proveDecodable(bytes, limits: DecodingLimits()))
    }
  }

  private static func pixels(_ name: String, _ file: String) -> Benchmark {
    coding(name, file, operations: 2) { coder, bytes throws(ImageError) in
      keep(try coder.decode(bytes, options: DecodingOptions(), limits: DecodingLimits()))
    }
  }

  private static func coding(
    _ name: String,
    _ file: String,
    operations: Int,
    work: @escaping (any ImageCoder, UnsafeRawBufferPointer) throws(ImageError) -> Void
  ) -> Benchmark {
    Benchmark(name: name, operations: operations) { workspace in
      let image = try workspace.image(file)
      let format = ImageFormat(of: image)
      guard let format, let coder = ImageCoderRegistry.standard.coder(for: format) else {
        throw BenchmarkError(sentence: "\(file) has no decodable format")
      }
      return {
        try image.withRawBytes { bytes throws(ImageError) in
          for _ in 0..<operations { try work(coder, bytes) }
        }
      }
    }
  }
}
