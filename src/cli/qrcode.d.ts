// The functions of `qrcode` that we use; the package has no types of its own.
declare module 'qrcode' {
  export function toString(text: string, options: { type: 'utf8'; margin?: number }): Promise<string>
  export function create(
    text: string,
    options: { errorCorrectionLevel: 'L' },
  ): { modules: { data: Uint8Array } }
}
