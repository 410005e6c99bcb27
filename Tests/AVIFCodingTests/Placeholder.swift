import AVIFCoding
