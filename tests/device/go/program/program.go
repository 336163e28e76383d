// Package program is what the programs of all generations have in common: a connection or a listener for a target,
// and lines of JSON on standard output.
package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Client is a command that a client knows; it gets the words after its name.
type Client func(ctx context.Context, conn *grpc.ClientConn, words []string) error

// Run does what the command line says: a client's command, or `server`. Every client knows two commands besides its own:
// `health [SERVICE]` asks whether a service is there, `services` asks the server itself what it serves.
func Run(agent string, clients map[string]Client, server func(*grpc.Server) func(command []string)) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 {
		fail(errors.New("name a command"))
	}
	name, words := os.Args[1], os.Args[2:]
	if name == "server" {
		fail(serve(ctx, server))
		return
	}
	maps.Copy(clients, map[string]Client{"health": health, "services": services})
	command, known := clients[name]
	if !known {
		fail(fmt.Errorf("no command %q", name))
	}
	conn, err := grpc.NewClient(
		os.Getenv("NVIDIA_DEVICE_API_TARGET"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUserAgent(agent),
	)
	fail(err)
	fail(command(ctx, conn, words))
}

// Print writes one line of JSON.
func Print(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

// Word is the word at a place, or nothing.
func Word(words []string, place int) string {
	if place < len(words) {
		return words[place]
	}
	return ""
}

// fail tells an error as a line, and ends the program with it; nothing happens where there is none.
func fail(err error) {
	if err == nil || errors.Is(err, io.EOF) || status.Code(err) == codes.Canceled {
		return
	}
	Print(map[string]string{"error": status.Code(err).String(), "message": status.Convert(err).Message()})
	os.Exit(1)
}

func serve(ctx context.Context, register func(*grpc.Server) func([]string)) error {
	path := strings.TrimPrefix(os.Getenv("NVIDIA_DEVICE_API_TARGET"), "unix://")
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	command := register(server)
	go func() { // each line of standard input is a command; its end is the end of the server
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			command(strings.Fields(lines.Text()))
			Print(map[string]string{"done": lines.Text()})
		}
		server.Stop()
	}()
	go func() {
		<-ctx.Done()
		server.Stop()
	}()
	Print(map[string]string{"listening": path})
	return server.Serve(listener)
}

func health(ctx context.Context, conn *grpc.ClientConn, words []string) error {
	request := &grpc_health_v1.HealthCheckRequest{Service: Word(words, 0)}
	response, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, request)
	if err == nil {
		Print(map[string]string{"status": response.Status.String()})
	}
	return err
}

// services asks for all services, and for the file of each, as grpcurl does, and prints their methods.
func services(ctx context.Context, conn *grpc.ClientConn, _ []string) error {
	stream, err := reflection.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		return err
	}
	answer, err := asked(stream, &reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_ListServices{},
	})
	if err != nil {
		return err
	}
	found := map[string][]string{}
	for _, service := range answer.GetListServicesResponse().GetService() {
		answer, err := asked(stream, &reflection.ServerReflectionRequest{
			MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service.Name},
		})
		if err != nil {
			return err
		}
		if found[service.Name], err = methods(service.Name, answer.GetFileDescriptorResponse().GetFileDescriptorProto()); err != nil {
			return err
		}
	}
	Print(found)
	return nil
}

type reflecting = grpc.BidiStreamingClient[reflection.ServerReflectionRequest, reflection.ServerReflectionResponse]

func asked(stream reflecting, request *reflection.ServerReflectionRequest) (*reflection.ServerReflectionResponse, error) {
	if err := stream.Send(request); err != nil {
		return nil, err
	}
	return stream.Recv()
}

// methods puts the files of an answer together, which fails where one is missing or wrong, and looks a service up.
func methods(service string, files [][]byte) ([]string, error) {
	set := &descriptorpb.FileDescriptorSet{}
	for _, data := range files {
		file := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(data, file); err != nil {
			return nil, err
		}
		set.File = append(set.File, file)
	}
	linked, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, err
	}
	descriptor, err := linked.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return nil, err
	}
	names := []string{}
	all := descriptor.(protoreflect.ServiceDescriptor).Methods()
	for place := range all.Len() {
		names = append(names, string(all.Get(place).Name()))
	}
	return names, nil
}
