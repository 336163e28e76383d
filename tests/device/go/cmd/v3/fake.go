package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	wire "pilotage.dev/compat/v3"
)

// fake is a server as that generation's: the versions of its changes begin at 1 with every start, the GPUs are at 1 before
// they change, a watch from a version gets later changes alone, those in between are lost, and a request without options
// crashes it.
type fake struct {
	wire.UnimplementedGpuServiceServer

	mutex    sync.Mutex
	revision int
	gpus     []*wire.Gpu
	watchers map[chan *wire.Gpu]bool
}

func newFake() *fake {
	made := &fake{watchers: map[chan *wire.Gpu]bool{}}
	for number := range 8 {
		made.gpus = append(made.gpus, &wire.Gpu{
			Metadata: &wire.ObjectMeta{Name: fmt.Sprintf("gpu-%d", number), ResourceVersion: "1"},
			Spec:     &wire.GpuSpec{Uuid: "GPU-" + rand.Text()}, // others after every start, as NVIDIA's
			Status: &wire.GpuStatus{Conditions: []*wire.Condition{{
				Type: "Ready", Status: "True", Reason: "DriverReady", Message: "driver is posting ready status",
			}}},
		})
	}
	return made
}

// command is `toggle NAME`.
func (f *fake) command(words []string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for place, held := range f.gpus {
		if held.Metadata.Name != words[1] {
			continue
		}
		changed := proto.CloneOf(held)
		ready := changed.Status.Conditions[0]
		ready.Status = map[string]string{"True": "False", "False": "True"}[ready.Status]
		f.revision++
		changed.Metadata.ResourceVersion = strconv.Itoa(f.revision)
		f.gpus[place] = changed
		for watcher := range f.watchers {
			watcher <- changed
		}
	}
}

func (f *fake) GetGpu(_ context.Context, request *wire.GetGpuRequest) (*wire.GetGpuResponse, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, held := range f.gpus {
		if held.Metadata.Name == request.Name {
			return &wire.GetGpuResponse{Gpu: held}, nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "gpu %q not found", request.Name)
}

func (f *fake) ListGpus(context.Context, *wire.ListGpusRequest) (*wire.ListGpusResponse, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	version := &wire.ListMeta{ResourceVersion: strconv.Itoa(f.revision)}
	return &wire.ListGpusResponse{GpuList: &wire.GpuList{Metadata: version, Items: append([]*wire.Gpu{}, f.gpus...)}}, nil
}

func (f *fake) WatchGpus(request *wire.WatchGpusRequest, stream grpc.ServerStreamingServer[wire.WatchGpusResponse]) error {
	since, _ := strconv.Atoi(request.Opts.ResourceVersion) // not GetOpts(): without options this is the end
	changes := make(chan *wire.Gpu, 1000)
	f.mutex.Lock()
	f.watchers[changes] = true
	there := append([]*wire.Gpu{}, f.gpus...)
	f.mutex.Unlock()
	defer func() {
		f.mutex.Lock()
		delete(f.watchers, changes)
		f.mutex.Unlock()
	}()
	if since > 0 {
		there = nil
	}
	for _, held := range there {
		if err := stream.Send(&wire.WatchGpusResponse{Type: "ADDED", Object: held}); err != nil {
			return err
		}
	}
	for {
		select {
		case changed := <-changes:
			if version, _ := strconv.Atoi(changed.Metadata.ResourceVersion); version <= since {
				continue
			}
			if err := stream.Send(&wire.WatchGpusResponse{Type: "MODIFIED", Object: changed}); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}
