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

  /// Starts a thread that calls `body` with `argument`; fails with the system's error number.
  package static func start(_ argument: UnsafeMutableRawPointer, _ body: @escaping Body) -> Result<SystemThread, SystemError> {
    let call = UnsafeMutablePointer<Call>.allocate(capacity: 1)
    call.initialize(to: Call(argument: argument, body: body))
    #if canImport(Darwin)
    var thread: pthread_t?
    let status = pthread_create(&thread, nil, { SystemThread.run($0) }, call)
    #else
    var thread = pthread_t()
    let status = pthread_create(&thread, nil, { SystemThread.run($0) }, call)
    #endif
    guard status == 0 else {
      call.deinitialize(count: 1).deallocate()
      return .failure(SystemError(number: status))
    }
    #if canImport(Darwin)
    return .success(SystemThread(handle: thread!))
    #else
    return .success(SystemThread(handle: thread))
    #endif
  }

  package typealias Body = @convention(c) (UnsafeMutableRawPointer) -> Void

  private struct Call {
    let argument: UnsafeMutableRawPointer
    let body: Body
  }

  private static func run(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let pointer else { return nil }
    let call = pointer.assumingMemoryBound(to: Call.self).move()
    pointer.deallocate()
    call.body(call.argument)
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

/// An error number of the system.
package struct SystemError: Error, Sendable, Hashable {
  package let number: Int32
}
