/** Types of a logo, by the ending of its stored name. */
export const logoTypes = { png: "image/png", jpg: "image/jpeg", webp: "image/webp" } as const;
export type LogoType = keyof typeof logoTypes;
export const maxLogoBytes = 512 * 1024;
/** Of the width and of the height. */
export const maxLogoPixels = 2048;
/** Of Supabase Storage. */
export const logosBucket = {
  id: "logos",
  name: "logos",
  public: false,
  file_size_limit: maxLogoBytes,
  allowed_mime_types: Object.values(logoTypes),
};
