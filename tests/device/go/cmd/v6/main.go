// Command v6 is a client and a server of the Device API's sixth generation.
//
//	v6 list [VERSION]                      the version of the list, and its items
//	v6 other                               the same under the service's other name
//	v6 get NAME                            one GPU
//	v6 watch [VERSION]                     events, until the end
//	v6 inform                              as an informer does it: list from "0", then watch from the list's version
//	v6 create NAME UUID                    a GPU that is Ready
//	v6 update NAME UUID [VERSION]          another UUID; at a version, if one is named
//	v6 update-status NAME READY [VERSION]  another status of the condition Ready; at a version, if one is named
//	v6 delete NAME
//	v6 server                              a server; for the commands on its standard input see server.go
//	v6 descriptor                          the file that the stubs were made from
package main

import (
	"context"
	"encoding/base64"
	"runtime"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"

	"pilotage.dev/compat/program"
	wire "pilotage.dev/compat/v6"
)

func main() {
	program.Run(
		"nvidia-device-api/devel ("+runtime.GOOS+"/"+runtime.GOARCH+")",
		map[string]program.Client{
			"list": list, "other": other, "get": get, "watch": watch, "inform": inform, "descriptor": descriptor,
			"create": create, "update": update, "update-status": updateStatus, "delete": remove,
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
	Type       string `json:"type,omitempty"`
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	Version    string `json:"version"`
	UID        string `json:"uid"`
	Generation int64  `json:"generation"`
	Created    bool   `json:"created"`
	UUID       string `json:"uuid"`
	Ready      string `json:"ready"`
}

func shown(kind string, object *wire.Gpu) gpu {
	ready := ""
	for _, condition := range object.GetStatus().GetConditions() {
		if condition.Type == "Ready" {
			ready = condition.Status
		}
	}
	metadata := object.GetMetadata()
	return gpu{
		Type: kind, Name: metadata.GetName(), Namespace: metadata.GetNamespace(),
		Version: metadata.GetResourceVersion(), UID: metadata.GetUid(), Generation: metadata.GetGeneration(),
		Created: metadata.GetCreationTimestamp() != nil, UUID: object.GetSpec().GetUuid(), Ready: ready,
	}
}

func list(ctx context.Context, conn *grpc.ClientConn, words []string) error {
	_, err := listed(ctx, conn, program.Word(words, 0))
	return err
}

func listed(ctx context.Context, conn *grpc.ClientConn, version string) (string, error) {
	request := &wire.ListGpusRequest{Opts: &wire.ListOptions{ResourceVersion: version}}
	response, err := wire.NewGpuServiceClient(conn).ListGpus(ctx, request)
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

// other lists under the package name that one line of upstream's servers has.
func other(ctx context.Context, conn *grpc.ClientConn, _ []string) error {
	response := &wire.ListGpusResponse{}
	err := conn.Invoke(ctx, "/nvidia.device.v1alpha1.GpuService/ListGpus", &wire.ListGpusRequest{}, response)
	if err == nil {
		program.Print(map[string]any{"count": len(response.GetGpuList().GetItems())})
	}
	return err
}

func get(ctx context.Context, conn *grpc.ClientConn, words []string) error {
	request := &wire.GetGpuRequest{Name: program.Word(words, 0), Opts: &wire.GetOptions{}}
	response, err := wire.NewGpuServiceClient(conn).GetGpu(ctx, request)
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

// named is an object with no more than a name and a version, to be filled with what a write says.
func named(name, version string) *wire.Gpu {
	return &wire.Gpu{Metadata: &wire.ObjectMeta{Name: name, ResourceVersion: version}}
}

func readyCondition(value string) *wire.GpuStatus {
	return &wire.GpuStatus{Conditions: []*wire.Condition{{Type: "Ready", Status: value, Reason: "DriverReady"}}}
}

func create(ctx context.Context, conn *grpc.ClientConn, words []string) error {
	object := named(words[0], "")
	object.Spec = &wire.GpuSpec{Uuid: words[1]}
	return written(wire.NewGpuServiceClient(conn).CreateGpu(ctx, &wire.CreateGpuRequest{Gpu: object}))
}

func update(ctx context.Context, conn *grpc.ClientConn, words []string) error {
	object := named(words[0], program.Word(words, 2))
	object.Spec = &wire.GpuSpec{Uuid: words[1]}
	return written(wire.NewGpuServiceClient(conn).UpdateGpu(ctx, &wire.UpdateGpuRequest{Gpu: object}))
}

func updateStatus(ctx context.Context, conn *grpc.ClientConn, words []string) error {
	object := named(words[0], program.Word(words, 2))
	object.Status = readyCondition(words[1])
	return written(wire.NewGpuServiceClient(conn).UpdateGpuStatus(ctx, &wire.UpdateGpuStatusRequest{Gpu: object}))
}

func written(object *wire.Gpu, err error) error {
	if err == nil {
		program.Print(shown("", object))
	}
	return err
}

func remove(ctx context.Context, conn *grpc.ClientConn, words []string) error {
	_, err := wire.NewGpuServiceClient(conn).DeleteGpu(ctx, &wire.DeleteGpuRequest{Name: words[0]})
	if err == nil {
		program.Print(map[string]string{"deleted": words[0]})
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
