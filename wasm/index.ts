// The part of the scan of transcripts that reads bytes, compiled to WebAssembly by scripts/scan-wasm.ts.
export { bufferAt, bufferBytes, Field, fieldsAt, find, hashesAt, Span, spansAt } from './memory'
export { Kind, walk } from './walker'
export { readCall, readResult, readResultId, Tool } from './calls'
export { hashText } from './line-hash'
