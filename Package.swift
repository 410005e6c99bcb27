// swift-tools-version: 6.2
import PackageDescription

/// The one list of settings for every Swift target.
let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// A library of the system, found by pkg-config, with the Debian package that brings it.
func system(_ name: String, pkgConfig: String, debian: String) -> Target {
  .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([debian])])
}

func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies + ["TestSupport"], swiftSettings: strict)
}

let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
  name: "prewarm",
  products: [
    .executable(name: "prewarm", targets: ["prewarm"]),
    // What other programs use: the core without jobs, manifests and reports.
    .library(name: "PrewarmImages", targets: ["PrewarmImages"]),
  ],
  traits: [
    .trait(name: "AVIF", description: "Decode AVIF images with libavif, which is loaded with the first of them"),
    .trait(name: "Queue", description: "The commands enqueue and worker, for a queue of jobs on Redis by hiredis"),
    .default(enabledTraits: ["AVIF", "Queue"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
  ],
  targets: [
    // System libraries: a module map and a shim header each.
    system("CCurl", pkgConfig: "libcurl", debian: "libcurl4-openssl-dev"),
    system("CLMDB", pkgConfig: "lmdb", debian: "liblmdb-dev"),
    system("CXXHash", pkgConfig: "libxxhash", debian: "libxxhash-dev"),
    system("CYAML", pkgConfig: "yaml-0.1", debian: "libyaml-dev"),
    system("CJansson", pkgConfig: "jansson", debian: "libjansson-dev"),
    system("CWebP", pkgConfig: "libwebpdemux", debian: "libwebp-dev"),
    system("CZlib", pkgConfig: "zlib", debian: "zlib1g-dev"),
    system("CCrypto", pkgConfig: "libcrypto", debian: "libssl-dev"),
    // Debian's giflib has no pkg-config file; its module map says what to link.
    .systemLibrary(name: "CGIF", providers: [.apt(["libgif-dev"])]),
    // The flags in hiredis' pkg-config file are none that SwiftPM passes on; its headers are found without.
    .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
    .systemLibrary(name: "CLinux"),

    // Calls that begin and end in C, since `setjmp` may not cross Swift.
    .target(name: "CJPEG", linkerSettings: [.linkedLibrary("jpeg")]),
    .target(name: "CPNG", linkerSettings: [.linkedLibrary("png16"), .linkedLibrary("z")]),
    // libavif's headers (Debian: libavif-dev); it is loaded, not linked.
    .target(name: "CAVIF"),
    // Expat (Debian: libexpat1-dev), whose memory is counted in C.
    .target(name: "CExpat", linkerSettings: [.linkedLibrary("expat")]),

    library("ImagePrimitives", ["CXXHash"]),
    library("Threads", ["ImagePrimitives", "CLinux", deque]),
    library("ImageURLs", ["ImagePrimitives", "CCurl"]),
    library(
      "ImageCoding",
      [
        "ImagePrimitives", "Threads", "CJPEG", "CPNG", "CWebP", "CGIF",
        .target(name: "CAVIF", condition: .when(traits: ["AVIF"])),
      ]
    ),
    library("ImageCaching", ["ImagePrimitives", "Threads", "CLMDB", "CXXHash", "CCrypto", "CLinux"]),
    library("ImageDownloading", ["ImagePrimitives", "Threads", "ImageURLs", "CCurl", "CLinux", "CZlib", heap]),
    library("ImageManaging", ["ImagePrimitives", "Threads", "ImageURLs", "ImageCoding", "ImageCaching", "ImageDownloading"]),
    // All that a program over the library imports.
    library("PrewarmImages", ["ImagePrimitives", "ImageCoding", "ImageCaching", "ImageDownloading", "ImageManaging"]),
    library("YAMLDocuments", ["CYAML"]),
    library("Manifests", ["ImagePrimitives", "ImageURLs", "CXXHash", "CZlib", "CExpat"]),
    library("Reports", ["ImagePrimitives", "ImageURLs", "CJansson", "CXXHash"]),
    library(
      "WarmJobs",
      [
        "YAMLDocuments", "Manifests", "ImageManaging", "ImageCoding", "ImageCaching", "ImageDownloading",
        "ImageURLs", "ImagePrimitives", "Reports", "Threads",
      ]
    ),
    library("RedisClient", ["ImagePrimitives", "CHiredis"]),
    library("WorkQueues", ["ImagePrimitives", "Threads", "RedisClient", "CXXHash", deque]),
    library(
      "QueuedJobs",
      [
        "WarmJobs", "WorkQueues", "RedisClient", "YAMLDocuments", "Manifests", "ImageManaging", "ImageCaching",
        "ImageDownloading",
        "ImageURLs", "ImagePrimitives", "Reports", "Threads", "CXXHash",
      ]
    ),
    .executableTarget(
      name: "prewarm",
      dependencies: [
        "WarmJobs", "Reports", "Manifests", "ImageManaging", "ImageDownloading", "ImageCaching", "ImageURLs",
        "ImagePrimitives", "Threads", arguments,
        .target(name: "QueuedJobs", condition: .when(traits: ["Queue"])),
        .target(name: "WorkQueues", condition: .when(traits: ["Queue"])),
        .target(name: "RedisClient", condition: .when(traits: ["Queue"])),
      ],
      swiftSettings: strict
    ),

    // What tests share: folders, clocks, fixtures, processes; and servers that misbehave on purpose.
    .target(
      name: "TestSupport",
      dependencies: ["ImagePrimitives", "ImageCoding"],
      path: "Tests/TestSupport",
      swiftSettings: strict
    ),
    .target(
      name: "TestOrigin",
      dependencies: [
        "TestSupport", "CTestTLS",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ],
      path: "Tests/TestOrigin",
      swiftSettings: strict
    ),
    // TLS for servers that are made by hand.
    .target(name: "CTestTLS", path: "Tests/CTestTLS", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    // In place of libc's resolver, for names that resolve as a test says.
    .target(name: "CTestResolver", path: "Tests/CTestResolver"),
    // Inner parts, whose instructions scripts/bench-counts counts.
    .target(name: "CCounting", path: "Tests/CCounting"),
    .executableTarget(
      name: "prewarm-benchmarks",
      dependencies: [
        "WarmJobs", "Manifests", "ImageManaging", "ImageCoding", "ImageCaching", "ImageDownloading",
        "ImageURLs",
        "ImagePrimitives", "Reports", "Threads", "CCounting",
      ],
      path: "Tests/Benchmarks",
      exclude: ["counts-x86_64.txt"],
      swiftSettings: strict
    ),
    .testTarget(name: "TestOriginTests", dependencies: ["TestOrigin", "TestSupport"], swiftSettings: strict),
    tests("ImagePrimitivesTests", ["ImagePrimitives"]),
    tests("ThreadsTests", ["Threads"]),
    tests("ImageURLsTests", ["ImageURLs"]),
    tests("ImageCodingTests", ["ImageCoding"]),
    tests("AgreementTests", ["ImageCoding", "ImagePrimitives"]),
    tests("ImageCachingTests", ["ImageCaching"]),
    tests("ImageDownloadingTests", ["ImageDownloading", "ImageURLs", "TestOrigin", "CTestResolver"]),
    tests(
      "ImageManagingTests",
      [
        "ImageManaging", "ImagePrimitives", "ImageURLs", "Threads", "ImageCaching", "ImageDownloading", "ImageCoding",
        "TestOrigin",
      ]
    ),
    // The blocks of code in the guide, which each have to compile and to run.
    tests(
      "GuideTests",
      ["PrewarmImages", "TestOrigin"]
    ),
    tests("RedisClientTests", ["RedisClient", "ImagePrimitives"]),
    tests("WorkQueuesTests", ["WorkQueues", "RedisClient", "ImagePrimitives", "Threads"]),
    tests("YAMLDocumentsTests", ["YAMLDocuments"]),
    tests("ManifestsTests", ["Manifests", "ImagePrimitives", "ImageURLs"]),
    tests("ReportsTests", ["Reports", "ImagePrimitives"]),
    tests(
      "WarmJobsTests",
      [
        "WarmJobs", "YAMLDocuments", "Manifests", "ImagePrimitives", "ImageURLs", "ImageDownloading", "ImageManaging",
        "ImageCaching", "ImageCoding", "Reports",
        "TestOrigin",
      ]
    ),
    tests("QueuedJobsTests", ["QueuedJobs", "WarmJobs", "WorkQueues", "ImagePrimitives", "ImageManaging", "ImageURLs"]),
    tests("CommandTests", ["ImageCaching", "ImagePrimitives", "RedisClient", "WorkQueues", "prewarm", "TestOrigin"]),
  ],
  swiftLanguageModes: [.v6]
)

// For scripts/fuzz: what libFuzzer runs. Built otherwise, it would lack a `main`.
if Context.environment["PREWARM_FUZZ"] == "1" {
  package.targets.append(
    .executableTarget(
      name: "fuzz",
      dependencies: ["ImagePrimitives", "ImageCoding", "Reports", "WorkQueues"],
      path: "Tests/Fuzzing",
      swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]
    )
  )
}
