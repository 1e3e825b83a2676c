// Copyright: (c) 2026, kubeadm.control_plane contributors
// GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// A newer API server of custom resources in front of an older, complete one: k8s.io/apiextensions-apiserver as it is, the code that
// kube-apiserver serves custom resources with. What it doesn't serve itself (Secrets, Leases, Events, roles) it hands on to the
// API server of --kubeconfig, in the name of whoever asks; that one also says who somebody is and what they may do.
package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	generated "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	namer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/component-base/cli"
)

// groups lists the API groups of the custom resources; in kube-apiserver its aggregator does.
func groups(answer *http.Response, definitions clientset.Interface) error {
	found := meta.APIGroupList{}
	if err := json.NewDecoder(answer.Body).Decode(&found); err != nil {
		return err
	}
	// The older one's has versions that are gone.
	found.Groups = slices.DeleteFunc(found.Groups, func(group meta.APIGroup) bool { return group.Name == extensions.GroupName })
	version := meta.GroupVersionForDiscovery{GroupVersion: extensions.SchemeGroupVersion.String(), Version: extensions.SchemeGroupVersion.Version}
	own := meta.APIGroup{Name: extensions.GroupName, Versions: []meta.GroupVersionForDiscovery{version}, PreferredVersion: version}
	found.Groups = append(found.Groups, own)
	listed, err := definitions.ApiextensionsV1().CustomResourceDefinitions().List(answer.Request.Context(), meta.ListOptions{})
	if err != nil {
		return err
	}
	for _, each := range listed.Items {
		at := slices.IndexFunc(found.Groups, func(group meta.APIGroup) bool { return group.Name == each.Spec.Group })
		if at < 0 {
			at = len(found.Groups)
			found.Groups = append(found.Groups, meta.APIGroup{Name: each.Spec.Group})
		}
		for _, version := range each.Spec.Versions {
			served := meta.GroupVersionForDiscovery{GroupVersion: each.Spec.Group + "/" + version.Name, Version: version.Name}
			if version.Served && !slices.Contains(found.Groups[at].Versions, served) {
				found.Groups[at].Versions = append(found.Groups[at].Versions, served)
				found.Groups[at].PreferredVersion = found.Groups[at].Versions[0]
			}
		}
	}
	content, err := json.Marshal(found)
	answer.Body = io.NopCloser(bytes.NewReader(content))
	answer.ContentLength = int64(len(content))
	answer.Header.Set("Content-Length", strconv.Itoa(len(content)))
	return err
}

func handOn(older *rest.Config, own *rest.Config) (http.Handler, error) {
	definitions, err := clientset.NewForConfig(own)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(older.Host)
	if err != nil {
		return nil, err
	}
	carrier, err := rest.TransportFor(older)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Transport:     carrier,
		FlushInterval: -1, // a watch is an answer without an end
		ModifyResponse: func(answer *http.Response) error {
			if answer.Request.URL.Path == "/apis" && answer.StatusCode == http.StatusOK {
				return groups(answer, definitions)
			}
			return nil
		},
		Rewrite: func(handed *httputil.ProxyRequest) {
			handed.SetURL(target)
			if handed.In.URL.Path == "/apis" {
				handed.Out.Header.Del("Accept-Encoding")
				handed.Out.Header.Set("Accept", "application/json")
			}
			asking, known := request.UserFrom(handed.In.Context())
			handed.Out.Header.Del("Authorization")
			handed.Out.Header.Del(transport.ImpersonateGroupHeader)
			handed.Out.Header.Set(transport.ImpersonateUserHeader, "system:anonymous")
			if known {
				handed.Out.Header.Set(transport.ImpersonateUserHeader, asking.GetName())
				handed.Out.Header[transport.ImpersonateGroupHeader] = asking.GetGroups()
			}
		},
	}, nil
}

func main() {
	made := options.NewCustomResourceDefinitionsServerOptions(os.Stdout, os.Stderr)
	command := &cobra.Command{
		PersistentPreRunE: func(*cobra.Command, []string) error { return made.ServerRunOptions.ComponentGlobalsRegistry.Set() },
		RunE: func(started *cobra.Command, _ []string) error {
			if err := made.Complete(); err != nil {
				return err
			}
			if err := made.Validate(); err != nil {
				return err
			}
			config, err := made.Config()
			if err != nil {
				return err
			}
			// Without this nothing tells kubectl the fields of custom resources.
			described := openapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generated.GetOpenAPIDefinitions)
			config.GenericConfig.OpenAPIConfig = server.DefaultOpenAPIConfig(described, namer.NewDefinitionNamer(apiserver.Scheme))
			older, err := handOn(config.GenericConfig.ClientConfig, config.GenericConfig.LoopbackClientConfig)
			if err != nil {
				return err
			}
			front, err := config.Complete().New(server.NewEmptyDelegateWithCustomHandler(older))
			if err != nil {
				return err
			}
			return front.GenericAPIServer.PrepareRun().RunWithContext(started.Context())
		},
	}
	command.SetContext(server.SetupSignalContext())
	made.AddFlags(command.Flags())
	os.Exit(cli.Run(command))
}
