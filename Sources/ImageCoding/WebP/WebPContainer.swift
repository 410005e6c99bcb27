import CWebP
import ImagePrimitives

/// A whole WebP file as libwebp's demuxer sees it: one picture, or the frames of an animation.
struct WebPContainer: ~Copyable {
  /// A picture and how it is shown.
  struct Frame {
    var bitstream: WebPBitstream
    /// Where it lies on the canvas; all of it does.
    var x: Int
    var y: Int
    var milliseconds: Int
    /// Whether it is laid over what is there, and does not replace it.
    var isBlended: Bool
    /// Whether its area becomes transparent before the next frame.
    var isDisposed: Bool
  }

  private let demuxer: OpaquePointer
  /// How many frames there are; 1 in a file without animation.
  let frames: Int
  /// How often they are shown; 0: for ever.
  let loopCount: Int

  /// Reads the container, whose bytes have to outlive this; libwebp finds all of its faults here, and none of its pictures'.
  init(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
    var data = WebPData(bytes: bytes.assumingMemoryBound(to: UInt8.self).baseAddress, size: bytes.count)
    guard let demuxer = WebPDemux(&data) else {
      throw .undecodable("libwebp: the file's chunks are corrupt, or not all are here")
    }
    self.init(demuxer)
  }

  /// Reads the beginning of a file; nil where not even the first chunk's header is here.
  init?(partOf bytes: UnsafeRawBufferPointer) {
    var data = WebPData(bytes: bytes.assumingMemoryBound(to: UInt8.self).baseAddress, size: bytes.count)
    var state = WEBP_DEMUX_PARSING_HEADER
    guard let demuxer = WebPDemuxPartial(&data, &state) else { return nil }
    self.init(demuxer)
  }

  private init(_ demuxer: OpaquePointer) {
    self.demuxer = demuxer
    frames = Int(WebPDemuxGetI(demuxer, WEBP_FF_FRAME_COUNT))
    loopCount = Int(WebPDemuxGetI(demuxer, WEBP_FF_LOOP_COUNT))
  }

  deinit { WebPDemuxDelete(demuxer) }

  /// Calls `body` with the first frame, if all of it is here.
  func withFirstWholeFrame(_ body: (Frame) throws(ImageError) -> Void) throws(ImageError) {
    var iterator = WebPIterator()
    defer { WebPDemuxReleaseIterator(&iterator) }
    guard WebPDemuxGetFrame(demuxer, 1, &iterator) != 0, iterator.complete != 0 else { return }
    try body(Frame(iterator))
  }

  /// Calls `body` with each frame in turn until it returns false; what it throws tells which frame it was, where there are
  /// several.
  func forEachFrame(_ body: (Frame) throws(ImageError) -> Bool) throws(ImageError) {
    var iterator = WebPIterator()
    defer { WebPDemuxReleaseIterator(&iterator) }
    for number in 1...max(1, frames) {
      guard WebPDemuxGetFrame(demuxer, Int32(number), &iterator) != 0 else {
        throw .undecodable("libwebp: frame \(number) is not whole")
      }
      do throws(ImageError) {
        guard try body(Frame(iterator)) else { return }
      } catch {
        throw frames == 1 ? error : ImageError(error.kind, "\(error.message), in frame \(number)")
      }
    }
  }
}

extension WebPContainer.Frame {
  fileprivate init(_ frame: WebPIterator) {
    bitstream = WebPBitstream(
      UnsafeRawBufferPointer(start: frame.fragment.bytes, count: frame.fragment.size),
      size: ImageSize(width: Int(frame.width), height: Int(frame.height))
    )
    x = Int(frame.x_offset)
    y = Int(frame.y_offset)
    milliseconds = Int(frame.duration)
    isBlended = frame.blend_method == WEBP_MUX_BLEND
    isDisposed = frame.dispose_method == WEBP_MUX_DISPOSE_BACKGROUND
  }
}
