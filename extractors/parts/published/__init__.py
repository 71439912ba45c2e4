"""Published names of networks whose library has them under others: one module per publisher."""
