package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	wire "pilotage.dev/compat/v6"
)

// server keeps GPUs in memory with one revision and a log for all, so that a watch from a version gets all that came
// later. It knows nothing beyond its generation: no patch, no selectors, no bookmarks; and
// no conditions of a delete, though the stubs, which are ours, have them.
//
// Its commands: `toggle NAME` flips the condition Ready, `delete NAME` removes a GPU, `compact` forgets the log,
// `end` ends every open watch, `forget` refuses every watch from a version from now on, as NVIDIA's memory storage does.
type server struct {
	wire.UnimplementedGpuServiceServer

	mutex     sync.Mutex
	revision  int
	compacted int
	forgetful bool
	gpus      map[string]*wire.Gpu
	log       []entry
	changed   chan struct{} // closed, and made anew, at every change
	ended     chan struct{} // closed, and made anew, when the open watches shall end
}

type entry struct {
	revision int
	event    *wire.WatchGpusResponse
}

func newServer() *server {
	made := &server{gpus: map[string]*wire.Gpu{}, changed: make(chan struct{}), ended: make(chan struct{})}
	for number := range 8 {
		made.create(&wire.Gpu{
			Metadata: &wire.ObjectMeta{Name: fmt.Sprintf("gpu-%d", number)},
			Spec:     &wire.GpuSpec{Uuid: fmt.Sprintf("GPU-00000000-0000-4000-8000-%012d", number)},
			Status:   readyCondition("True"),
		})
	}
	return made
}

func (s *server) command(words []string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch words[0] {
	case "toggle":
		changed := proto.CloneOf(s.gpus[words[1]])
		ready := changed.Status.Conditions[0]
		ready.Status = map[string]string{"True": "False", "False": "True"}[ready.Status]
		s.put("MODIFIED", changed)
	case "delete":
		s.remove(words[1])
	case "compact":
		s.compacted, s.log = s.revision, nil
	case "forget":
		s.forgetful = true
	case "end":
		close(s.ended)
		s.ended = make(chan struct{})
	}
}

func (s *server) create(object *wire.Gpu) {
	object.Metadata.Uid, object.Metadata.Generation = rand.Text(), 1
	object.Metadata.CreationTimestamp = timestamppb.Now()
	s.put("ADDED", object)
}

// put stores an object at the next revision, and tells the watches. The caller holds the lock.
func (s *server) put(kind string, object *wire.Gpu) *wire.Gpu {
	s.revision++
	object.Metadata.ResourceVersion = strconv.Itoa(s.revision)
	s.gpus[object.Metadata.Name] = object
	s.tell(kind, object)
	return object
}

func (s *server) remove(name string) {
	s.revision++
	last := proto.CloneOf(s.gpus[name])
	last.Metadata.ResourceVersion = strconv.Itoa(s.revision)
	delete(s.gpus, name)
	s.tell("DELETED", last)
}

func (s *server) tell(kind string, object *wire.Gpu) {
	s.log = append(s.log, entry{s.revision, &wire.WatchGpusResponse{Type: kind, Object: object}})
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *server) GetGpu(_ context.Context, request *wire.GetGpuRequest) (*wire.GetGpuResponse, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	held, err := s.held(request.Name)
	if err != nil {
		return nil, err
	}
	return &wire.GetGpuResponse{Gpu: held}, nil
}

func (s *server) ListGpus(_ context.Context, request *wire.ListGpusRequest) (*wire.ListGpusResponse, error) {
	if request.Namespace != "" {
		return nil, status.Errorf(codes.InvalidArgument, "GPUs have no namespace, and none is called %q", request.Namespace)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	version := &wire.ListMeta{ResourceVersion: strconv.Itoa(s.revision)}
	return &wire.ListGpusResponse{GpuList: &wire.GpuList{Metadata: version, Items: s.all()}}, nil
}

func (s *server) WatchGpus(request *wire.WatchGpusRequest, stream grpc.ServerStreamingServer[wire.WatchGpusResponse]) error {
	if request.Namespace != "" {
		return status.Errorf(codes.InvalidArgument, "GPUs have no namespace, and none is called %q", request.Namespace)
	}
	s.mutex.Lock()
	since, events, err := s.beginning(request.Opts.GetResourceVersion())
	ended := s.ended
	s.mutex.Unlock()
	for err == nil {
		for _, event := range events {
			if err = stream.Send(event); err != nil {
				return err
			}
		}
		s.mutex.Lock()
		since, events, err = s.after(since)
		changed := s.changed
		s.mutex.Unlock()
		if len(events) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-ended:
			return nil
		case <-stream.Context().Done():
			return nil
		}
	}
	return err
}

// beginning is what a watch from a version starts with, and the revision that it has then seen.
func (s *server) beginning(version string) (int, []*wire.WatchGpusResponse, error) {
	if version != "" && s.forgetful {
		return 0, nil, status.Errorf(codes.OutOfRange, "resourceVersion: Invalid value: %q: no watch from a version", version)
	}
	if version != "" && version != "0" {
		since, err := strconv.Atoi(version)
		if err != nil {
			return 0, nil, status.Errorf(codes.InvalidArgument, "%q is no version", version)
		}
		return s.after(since)
	}
	var events []*wire.WatchGpusResponse
	for _, held := range s.all() {
		events = append(events, &wire.WatchGpusResponse{Type: "ADDED", Object: held})
	}
	return s.revision, events, nil
}

func (s *server) after(since int) (int, []*wire.WatchGpusResponse, error) {
	if since < s.compacted {
		return 0, nil, status.Errorf(codes.OutOfRange, "version %d is older than %d", since, s.compacted)
	}
	var events []*wire.WatchGpusResponse
	for _, entry := range s.log {
		if entry.revision > since {
			since, events = entry.revision, append(events, entry.event)
		}
	}
	return since, events, nil
}

func (s *server) all() []*wire.Gpu {
	var all []*wire.Gpu
	for _, name := range slices.Sorted(maps.Keys(s.gpus)) {
		all = append(all, s.gpus[name])
	}
	return all
}

func (s *server) CreateGpu(_ context.Context, request *wire.CreateGpuRequest) (*wire.Gpu, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	object := request.Gpu
	if _, exists := s.gpus[object.GetMetadata().GetName()]; exists {
		return nil, status.Errorf(codes.AlreadyExists, "gpu %q already exists", object.Metadata.Name)
	}
	s.create(object)
	return object, nil
}

func (s *server) UpdateGpu(_ context.Context, request *wire.UpdateGpuRequest) (*wire.Gpu, error) {
	return s.updated(request.Gpu, func(held *wire.Gpu) {
		if !proto.Equal(held.Spec, request.Gpu.Spec) {
			held.Metadata.Generation++
		}
		held.Spec = request.Gpu.Spec
	})
}

func (s *server) UpdateGpuStatus(_ context.Context, request *wire.UpdateGpuStatusRequest) (*wire.Gpu, error) {
	return s.updated(request.Gpu, func(held *wire.Gpu) { held.Status = request.Gpu.Status })
}

func (s *server) updated(object *wire.Gpu, change func(*wire.Gpu)) (*wire.Gpu, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	held, err := s.held(object.GetMetadata().GetName())
	if err != nil {
		return nil, err
	}
	if wanted := object.Metadata.ResourceVersion; wanted != "" && wanted != held.Metadata.ResourceVersion {
		return nil, status.Errorf(codes.Aborted, "gpu %q is at %s, not at %s", held.Metadata.Name, held.Metadata.ResourceVersion, wanted)
	}
	changed := proto.CloneOf(held)
	change(changed)
	return s.put("MODIFIED", changed), nil
}

func (s *server) DeleteGpu(_ context.Context, request *wire.DeleteGpuRequest) (*emptypb.Empty, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, err := s.held(request.Name); err != nil {
		return nil, err
	}
	s.remove(request.Name)
	return &emptypb.Empty{}, nil
}

func (s *server) held(name string) (*wire.Gpu, error) {
	if found, there := s.gpus[name]; there {
		return found, nil
	}
	return nil, status.Errorf(codes.NotFound, "gpu %q not found", name)
}
