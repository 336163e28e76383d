// Command v8 is a client and a server of the Device API's eighth generation.
//
//	v8 list                      the version of the list, and its items
//	v8 bookmark                  a watch until its first bookmark, and what that holds
//	v8 update-uid NAME UID       an update with another uid
//	v8 status-uid NAME UID       the same of the status
//	v8 patch NAME TYPE DATA      a patch
//	v8 server                    a server; for the commands on its standard input see server.go
//	v8 descriptor                the file that the stubs were made from
package main

import (
	"context"
	"encoding/base64"
	"runtime"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"

	"pilotage.dev/compat/program"
	wire "pilotage.dev/compat/v8"
)

func main() {
	program.Run(
		"nvidia-device-api/devel ("+runtime.GOOS+"/"+runtime.GOARCH+")",
		map[string]program.Client{
			"list": list, "bookmark": bookmark, "update-uid": updateUID, "status-uid": statusUID, "patch": patch,
			"descriptor": descriptor,
		},
		func(server *grpc.Server) func([]string) {
			made := newServer()
			wire.RegisterGpuServiceServer(server, made)
			return made.command
		},
	)
}

// gpu is a GPU as a line shows it.
type gpu struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	UID     string `json:"uid"`
	UUID    string `json:"uuid"`
}

func shown(object *wire.Gpu) gpu {
	metadata := object.GetObjectMeta()
	return gpu{metadata.GetName(), metadata.GetResourceVersion(), metadata.GetUid(), object.GetSpec().GetUuid()}
}

func list(ctx context.Context, conn *grpc.ClientConn, _ []string) error {
	response, err := wire.NewGpuServiceClient(conn).ListGpus(ctx, &wire.ListGpusRequest{Opts: &wire.ListOptions{}})
	if err != nil {
		return err
	}
	items := []gpu{}
	for _, item := range response.GetGpuList().GetItems() {
		items = append(items, shown(item))
	}
	program.Print(map[string]any{"version": response.GetGpuList().GetListMeta().GetResourceVersion(), "items": items})
	return nil
}

func bookmark(ctx context.Context, conn *grpc.ClientConn, _ []string) error {
	request := &wire.WatchGpusRequest{Opts: &wire.ListOptions{Watch: proto.Bool(true), AllowWatchBookmarks: proto.Bool(true)}}
	stream, err := wire.NewGpuServiceClient(conn).WatchGpus(ctx, request)
	for err == nil {
		var event *wire.WatchGpusResponse
		if event, err = stream.Recv(); err == nil && event.Type == "BOOKMARK" {
			object := event.Object
			program.Print(map[string]any{
				"kind": object.GetTypeMeta().GetKind(), "gpu": shown(object), "spec": object.Spec != nil,
				"annotations": len(object.GetObjectMeta().GetAnnotations()), "labels": len(object.GetObjectMeta().GetLabels()),
			})
			return nil
		}
	}
	return err
}

func withUID(ctx context.Context, conn *grpc.ClientConn, words []string) (*wire.Gpu, error) {
	response, err := wire.NewGpuServiceClient(conn).GetGpu(ctx, &wire.GetGpuRequest{Name: words[0]})
	if err == nil {
		response.Gpu.ObjectMeta.Uid = proto.String(words[1])
	}
	return response.GetGpu(), err
}

func updateUID(ctx context.Context, conn *grpc.ClientConn, words []string) error {
	object, err := withUID(ctx, conn, words)
	if err != nil {
		return err
	}
	return written(wire.NewGpuServiceClient(conn).UpdateGpu(ctx, &wire.UpdateGpuRequest{Gpu: object}))
}

func statusUID(ctx context.Context, conn *grpc.ClientConn, words []string) error {
	object, err := withUID(ctx, conn, words)
	if err != nil {
		return err
	}
	return written(wire.NewGpuServiceClient(conn).UpdateGpuStatus(ctx, &wire.UpdateGpuStatusRequest{Gpu: object}))
}

func patch(ctx context.Context, conn *grpc.ClientConn, words []string) error {
	request := &wire.PatchGpuRequest{Name: words[0], PatchType: words[1], Data: []byte(words[2])}
	return written(wire.NewGpuServiceClient(conn).PatchGpu(ctx, request))
}

func written(object *wire.Gpu, err error) error {
	if err == nil {
		program.Print(shown(object))
	}
	return err
}

func descriptor(context.Context, *grpc.ClientConn, []string) error {
	file, err := proto.Marshal(protodesc.ToFileDescriptorProto((&wire.Gpu{}).ProtoReflect().Descriptor().ParentFile()))
	if err == nil {
		program.Print(map[string]string{"descriptor": base64.StdEncoding.EncodeToString(file)})
	}
	return err
}
