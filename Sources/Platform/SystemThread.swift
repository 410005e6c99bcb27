// The system's C library, and the calls that differ between systems. The library's other modules import this one instead of a C library.
@_exported public import CPlatform

#if canImport(Darwin)
@_exported public import Darwin
#elseif canImport(Musl)
@_exported public import Musl
#else
@_exported public import Glibc
#endif

/// A thread of the system.
package struct SystemThread: @unchecked Sendable {
  // Sendable since the system's calls take a handle on any thread; on macOS it is a pointer.
  private let handle: pthread_t

  /// Starts a thread that calls `body`; nil if the system can't, with the error in `errno`.
  package static func start(_ body: @escaping @Sendable () -> Void) -> SystemThread? {
    let call = Unmanaged.passRetained(Call(body))
    #if canImport(Darwin)
    var thread: pthread_t?
    #else
    var thread = pthread_t()
    #endif
    let status = pthread_create(&thread, nil, { SystemThread.run($0) }, call.toOpaque())
    guard status == 0 else {
      call.release()
      errno = status
      return nil
    }
    #if canImport(Darwin)
    return SystemThread(handle: thread!)
    #else
    return SystemThread(handle: thread)
    #endif
  }

  private final class Call {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  private static func run(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let pointer { Unmanaged<Call>.fromOpaque(pointer).takeRetainedValue().body() }
    return nil
  }

  package var isCurrent: Bool { pthread_equal(handle, pthread_self()) != 0 }
  /// Waits until it has ended.
  package func join() { pthread_join(handle, nil) }
  /// Lets it free its own resources at its end.
  package func detach() { pthread_detach(handle) }

  /// Distinguishes the calling thread from all other running ones.
  package static var currentID: UInt {
    #if canImport(Darwin)
    UInt(bitPattern: pthread_self())
    #else
    UInt(pthread_self())
    #endif
  }
}
