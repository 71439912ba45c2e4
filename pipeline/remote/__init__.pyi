from .listing import (
    SUFFIX as SUFFIX,
    is_listing as is_listing,
    read_listing as read_listing,
    write_listing as write_listing,
)
from .shared import bring as bring, bring_copy as bring_copy, offer as offer, offer_copy as offer_copy
from .spool import at_hand as at_hand, remember_sha256 as remember_sha256, remembered_sha256 as remembered_sha256
from .transfer import (
    AbsentError as AbsentError,
    below as below,
    fetch as fetch,
    is_url as is_url,
    remove as remove,
    require_url as require_url,
    send as send,
)
