import ImageCaching

extension ImageManager {
  /// A manager for the whole process: over ``/ImageCaching/ImageCache/shared``, with a memory layer of 256 MiB; made when it is
  /// first used.
  ///
  /// Where it cannot be made, as the home folder may not be written, this traps with the reason: a program that wants to go on then makes
  /// a manager of its own.
  public static let shared: ImageManager = {
    do throws(ImageManagerError) {
      return try ImageManager(Configuration(cache: .shared, memory: ImageMemory(maxCost: 256 << 20)))
    } catch {
      fatalError("no shared image manager: \(error)")
    }
  }()
}
