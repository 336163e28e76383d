package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	wire "pilotage.dev/compat/v8"
)

// server is one as that generation's with memory storage: every watch from a version is refused with OUT_OF_RANGE, and no
// bookmark is ever sent. Deletes honour their conditions. A patch is a merge patch of the uuid; others are refused in the
// words that its clients know.
//
// Its command: `uuid NAME UUID` changes a GPU.
type server struct {
	wire.UnimplementedGpuServiceServer

	mutex    sync.Mutex
	revision int
	gpus     []*wire.Gpu
	changed  chan struct{} // closed, and replaced, at every change
}

func newServer() *server {
	made := &server{changed: make(chan struct{})}
	for number := range 8 {
		made.revision++
		made.gpus = append(made.gpus, &wire.Gpu{
			TypeMeta: &wire.TypeMeta{Kind: "GPU", ApiVersion: "device.nvidia.com/v1alpha1"},
			ObjectMeta: &wire.ObjectMeta{
				Name: proto.String(fmt.Sprintf("gpu-%d", number)), ResourceVersion: proto.String(strconv.Itoa(made.revision)),
				Uid: proto.String(rand.Text()),
			},
			Spec: &wire.GpuSpec{Uuid: fmt.Sprintf("GPU-%d", number)},
		})
	}
	return made
}

func (s *server) command(words []string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if place, err := s.place(words[1]); err == nil {
		s.put(place, words[2])
	}
}

// put changes a GPU. The caller holds the lock.
func (s *server) put(place int, uuid string) *wire.Gpu {
	changed := proto.CloneOf(s.gpus[place])
	s.revision++
	changed.Spec.Uuid, changed.ObjectMeta.ResourceVersion = uuid, proto.String(strconv.Itoa(s.revision))
	s.gpus[place] = changed
	close(s.changed)
	s.changed = make(chan struct{})
	return changed
}

func (s *server) place(name string) (int, error) {
	found := slices.IndexFunc(s.gpus, func(held *wire.Gpu) bool { return held.ObjectMeta.GetName() == name })
	if found < 0 {
		return 0, status.Errorf(codes.NotFound, "gpus %q not found", name)
	}
	return found, nil
}

func (s *server) GetGpu(_ context.Context, request *wire.GetGpuRequest) (*wire.GetGpuResponse, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	place, err := s.place(request.Name)
	if err != nil {
		return nil, err
	}
	return &wire.GetGpuResponse{Gpu: s.gpus[place]}, nil
}

func (s *server) ListGpus(context.Context, *wire.ListGpusRequest) (*wire.ListGpusResponse, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	version := &wire.ListMeta{ResourceVersion: proto.String(strconv.Itoa(s.revision))}
	return &wire.ListGpusResponse{GpuList: &wire.GpuList{ListMeta: version, Items: slices.Clone(s.gpus)}}, nil
}

func (s *server) WatchGpus(request *wire.WatchGpusRequest, stream grpc.ServerStreamingServer[wire.WatchGpusResponse]) error {
	if version := request.GetOpts().GetResourceVersion(); version != "" {
		return status.Errorf(codes.OutOfRange, "resourceVersion: Invalid value: %q: no watch from a version", version)
	}
	<-stream.Context().Done()
	return nil
}

func (s *server) DeleteGpu(_ context.Context, request *wire.DeleteGpuRequest) (*emptypb.Empty, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	place, err := s.place(request.Name)
	if err != nil {
		return nil, err
	}
	metadata, wanted := s.gpus[place].ObjectMeta, request.GetOpts().GetPreconditions()
	if wanted != nil && wanted.Uid != nil && wanted.GetUid() != metadata.GetUid() ||
		wanted != nil && wanted.ResourceVersion != nil && wanted.GetResourceVersion() != metadata.GetResourceVersion() {
		return nil, status.Errorf(codes.Aborted, "Operation cannot be fulfilled on gpus %q", request.Name)
	}
	s.revision++
	s.gpus = slices.Delete(s.gpus, place, place+1)
	return &emptypb.Empty{}, nil
}

func (s *server) PatchGpu(_ context.Context, request *wire.PatchGpuRequest) (*wire.Gpu, error) {
	if request.PatchType != "application/merge-patch+json" {
		return nil, status.Errorf(codes.InvalidArgument, "unsupported media type: %s", request.PatchType)
	}
	var wanted struct {
		Spec struct{ UUID string }
	}
	if err := json.Unmarshal(request.Data, &wanted); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "unprocessable content: %v", err)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	place, err := s.place(request.Name)
	if err != nil {
		return nil, err
	}
	return s.put(place, wanted.Spec.UUID), nil
}
