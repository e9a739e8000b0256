import type { BrandMessages } from "./en.ts";

export const ptBR: BrandMessages = {
  title: "Marca",
  text: "Cor e logotipo das páginas, dos e-mails e dos quadros incorporados.",
  now: "Aparência atual",
  logoOf: (name: string) => `Logotipo de ${name}`,
  noLogo: "Sem logotipo",
  noColor: "A cor padrão",
  sample: "Um botão",
  color: "Cor",
  colorHint: "Como #5b5bd6; vazio para a padrão. Onde o texto ficaria difícil de ler, usa-se um tom próximo.",
  logo: "Endereço do logotipo",
  logoHint:
    "Uma imagem em um endereço https, de preferência quadrada; vazio para nenhuma. Os navegadores a carregam de lá.",
  file: "Logotipo",
  fileHint: "Uma imagem PNG, JPEG ou WebP de no máximo 512 KiB, quadrada se possível. Substitui a anterior.",
  upload: "Enviar",
  fileMissing: "Escolha uma imagem.",
  fileType: "Não é uma imagem PNG, JPEG ou WebP.",
  tooLarge: "A imagem passa de 512 KiB, ou de 2.048 pixels de largura ou de altura: reduza-a.",
  remove: "Remover o logotipo",
  removeHint: "A imagem enviada é excluída. Os e-mails já enviados deixam de mostrá-la.",
  save: "Salvar",
  done: {
    saved: "A marca foi salva.",
    uploaded: "O logotipo foi enviado.",
  },
};
