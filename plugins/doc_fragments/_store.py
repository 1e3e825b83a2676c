# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: it may change in any release.

from __future__ import annotations


class ModuleDocFragment:
    """Option that names a store.

    Keep it in step with plugin_utils/store/opening.py and roles/control_plane/meta.
    """

    DOCUMENTATION = r"""
options:
  store:
    description:
      - Where the clusters' objects are kept.
      - For the type C(kubernetes) the options from O(store.kubeconfig) on are those of the collection kubernetes.core, and so are the environment variables
        (C(K8S_AUTH_KUBECONFIG), C(K8S_AUTH_HOST), C(K8S_AUTH_API_KEY) and so on) that replace what isn't given. Without any of them the default kubeconfig
        is used.
    type: dict
    required: true
    suboptions:
      type:
        description: The kind of store. V(kubernetes) is new in release 0.7.0 and needs the Python package C(kubernetes) on the controller.
        type: str
        choices: [file, kubernetes]
        default: file
      path:
        description:
          - The store's folder. It is made, readable for its owner alone, when it doesn't exist.
          - For the type V(kubernetes) this is the folder on the controller in which the clusters' journals are kept.
          - Needed for every module that works on a cluster.
        type: path
      encrypt_secrets:
        description: Whether Secrets are encrypted with Ansible Vault; needs a vault password in every run. For the type V(file) only.
        type: bool
        default: false
      export:
        description:
          - A folder on the controller in which each pass leaves a copy of the cluster's objects, as a store of type V(file) whose Secrets are encrypted;
            needs a vault password in every run. For the type V(kubernetes) only, and meant for clusters that keep their own objects, which can't be
            asked for them while their API is down.
        type: path
        version_added: 0.7.0
      kubeconfig:
        description:
          - The kubeconfig file, or several with C(:) between them, as in E(KUBECONFIG). It is read as kubectl reads it.
          - Credentials that it names and that can't be had, such as those of a credential plugin that fails, end the task.
        type: path
      context:
        description: The context of the kubeconfig that is used, where it isn't the current one.
        type: str
      host:
        description:
          - The API server's URL.
          - Together with O(store.api_key) or O(store.username), or where neither a kubeconfig nor a context is named, no kubeconfig is read. Else it
            replaces the kubeconfig's server.
        type: str
      api_key:
        description: A bearer token.
        type: str
      username:
        description: The name for HTTP basic authentication.
        type: str
      password:
        description: The password for HTTP basic authentication.
        type: str
      client_cert:
        description: A file with the client certificate.
        type: path
        aliases: [cert_file]
      client_key:
        description: A file with the key of O(store.client_cert). It may be left out where that file holds both.
        type: path
        aliases: [key_file]
      ca_cert:
        description: A file with the CA of the API server's certificate.
        type: path
        aliases: [ssl_ca_cert]
      validate_certs:
        description: Whether the API server's certificate is verified. It is, unless this or the kubeconfig says otherwise.
        type: bool
        aliases: [verify_ssl]
      proxy:
        description: The URL of a proxy (C(http), C(https), C(socks5)). Else the kubeconfig's, else that of the environment variable E(HTTPS_PROXY).
        type: str
      no_proxy:
        description: Hosts for which no proxy is used, separated by commas.
        type: str
      proxy_headers:
        description: What is sent to the proxy itself.
        type: dict
        version_added: 0.9.0
        suboptions:
          proxy_basic_auth:
            description: Name and password for the proxy, with a colon between them. They may be in the URL of O(store.proxy) as well.
            type: str
          basic_auth:
            description: Name and password of an C(Authorization) header for the proxy, with a colon between them.
            type: str
          user_agent:
            description: The C(User-Agent) header.
            type: str
      impersonate_user:
        description: Whom to act as. Else whom the kubeconfig says.
        type: str
      impersonate_groups:
        description: The groups to act as a member of; O(store.impersonate_user) is needed, too.
        type: list
        elements: str
      persist_config:
        description: Whether a token that was refreshed (C(auth-provider) of the kubeconfig) is written back to the kubeconfig file.
        type: bool
      in_cluster:
        description: Whether the credentials of the pod that this runs in are used, and no others. They never are unless this says so.
        type: bool
        default: false
"""
