"""Reading and rewriting device code as text: LLVM IR, PTX and what ptxas says about it."""
