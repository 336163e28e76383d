// Command v3 is a client and a server of the Device API's third generation, which only reads.
//
//	v3 list [VERSION]     the version of the list, and its items
//	v3 get NAME           one GPU
//	v3 watch [VERSION]    events, until the end
//	v3 inform             as an informer does it: list from "0", then watch from the list's version
//	v3 server             a server; `toggle NAME` on its standard input changes a GPU
//	v3 descriptor         the file that the stubs were made from
package main

import (
	"context"
	"encoding/base64"
	"runtime"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"

	"pilotage.dev/compat/program"
	wire "pilotage.dev/compat/v3"
)

func main() {
	program.Run(
		"nvidia-device-api-client/devel ("+runtime.GOOS+"/"+runtime.GOARCH+")",
		map[string]program.Client{
			"list": list, "get": get, "watch": watch, "inform": inform, "descriptor": descriptor,
		},
		func(server *grpc.Server) func([]string) {
			fake := newFake()
			wire.RegisterGpuServiceServer(server, fake)
			return fake.command
		},
	)
}

// gpu is a GPU as a line shows it.
type gpu struct {
	Type    string `json:"type,omitempty"`
	Name    string `json:"name"`
	Version string `json:"version"`
	UUID    string `json:"uuid"`
	Ready   string `json:"ready"`
}

func shown(kind string, object *wire.Gpu) gpu {
	ready := ""
	for _, condition := range object.GetStatus().GetConditions() {
		if condition.Type == "Ready" {
			ready = condition.Status
		}
	}
	metadata := object.GetMetadata()
	return gpu{kind, metadata.GetName(), metadata.GetResourceVersion(), object.GetSpec().GetUuid(), ready}
}

func list(ctx context.Context, conn *grpc.ClientConn, words []string) error {
	_, err := listed(ctx, conn, program.Word(words, 0))
	return err
}

func listed(ctx context.Context, conn *grpc.ClientConn, version string) (string, error) {
	response, err := wire.NewGpuServiceClient(conn).ListGpus(ctx, &wire.ListGpusRequest{Opts: &wire.ListOptions{ResourceVersion: version}})
	if err != nil {
		return "", err
	}
	items := []gpu{}
	for _, item := range response.GetGpuList().GetItems() {
		items = append(items, shown("", item))
	}
	version = response.GetGpuList().GetMetadata().GetResourceVersion()
	program.Print(map[string]any{"version": version, "items": items})
	return version, nil
}

func get(ctx context.Context, conn *grpc.ClientConn, words []string) error {
	response, err := wire.NewGpuServiceClient(conn).GetGpu(ctx, &wire.GetGpuRequest{Name: program.Word(words, 0), Opts: &wire.GetOptions{}})
	if err == nil {
		program.Print(shown("", response.Gpu))
	}
	return err
}

func watch(ctx context.Context, conn *grpc.ClientConn, words []string) error {
	request := &wire.WatchGpusRequest{Opts: &wire.ListOptions{ResourceVersion: program.Word(words, 0)}}
	stream, err := wire.NewGpuServiceClient(conn).WatchGpus(ctx, request)
	for err == nil {
		var event *wire.WatchGpusResponse
		if event, err = stream.Recv(); err == nil {
			program.Print(shown(event.Type, event.Object))
		}
	}
	return err
}

func inform(ctx context.Context, conn *grpc.ClientConn, _ []string) error {
	version, err := listed(ctx, conn, "0")
	if err != nil {
		return err
	}
	return watch(ctx, conn, []string{version})
}

func descriptor(context.Context, *grpc.ClientConn, []string) error {
	file, err := proto.Marshal(protodesc.ToFileDescriptorProto((&wire.Gpu{}).ProtoReflect().Descriptor().ParentFile()))
	if err == nil {
		program.Print(map[string]string{"descriptor": base64.StdEncoding.EncodeToString(file)})
	}
	return err
}
