"""Generates C++ for one .proto file, messages and gRPC services."""

def cc_grpc_proto(name, src, visibility = None):
    stem = src[:-len(".proto")]
    outs = [stem + suffix for suffix in [".pb.h", ".pb.cc", ".grpc.pb.h", ".grpc.pb.cc"]]
    native.genrule(
        name = name + "_generate",
        srcs = [src],
        outs = outs,
        cmd = "protoc -I. --cpp_out=$(GENDIR) --grpc_out=$(GENDIR) " +
              "--plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin $(SRCS)",
    )
    native.cc_library(
        name = name,
        srcs = [out for out in outs if out.endswith(".cc")],
        hdrs = [out for out in outs if out.endswith(".h")],
        visibility = visibility,
        deps = [
            "@com_github_grpc_grpc//:grpc++",
            "@com_google_protobuf//:protobuf",
        ],
    )
