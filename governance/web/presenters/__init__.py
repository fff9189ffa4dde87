"""From the ledger's rows to what the pages show (``governance.web.page``)."""
