from .schema import (
    VARIABLE as VARIABLE,
    Cluster as Cluster,
    Existing as Existing,
    Local as Local,
    Node as Node,
    Profile as Profile,
    Queue as Queue,
    Reachable as Reachable,
    Ssh as Ssh,
    load_profile as load_profile,
)
