// The part of the scan of transcripts that reads bytes, compiled to WebAssembly by scripts/scan-wasm.ts.
export {
  bufferAt,
  bufferBytes,
  callNumbers,
  callsAt,
  Field,
  fieldsAt,
  find,
  hashesAt,
  Span,
  spansAt,
} from './memory'
export { Kind, walk } from './walker'
export { mayWrite, readResult, readResultId, Tool } from './calls'
export { hashText } from './line-hash'
