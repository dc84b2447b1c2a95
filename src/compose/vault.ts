// Constructs the vault: its folder, and the secret that encrypts it if the owner wants that.
import { RockpoolError } from '../domain/errors.ts'
import type { App } from '../operations/app.ts'
import { readPrivateFile } from '../store/disk/private-file.ts'
import { openVault, type Vault } from '../vault/vault.ts'

export function openVaultOf(app: App): Promise<Vault> {
  const { paths, clock, log } = app
  return openVault({ folder: paths.vault, indexFile: paths.vaultIndex, secret: secretOf(app), clock, log })
}

function secretOf({ environment, config }: App): Buffer | undefined {
  const { keyFile } = config.vault
  if (keyFile === undefined)
    return environment.vaultPassphrase ? Buffer.from(environment.vaultPassphrase) : undefined
  const key = readPrivateFile(keyFile)
  if (key) return Buffer.from(key)
  throw new RockpoolError('config-invalid', `${keyFile} (vault.keyFile) is missing or empty.`, {
    hint: 'Put the key there, for example `openssl rand -base64 32`, or remove vault.keyFile.',
  })
}
